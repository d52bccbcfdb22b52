module gpuprobe.org/gpuprobe

go 1.19
