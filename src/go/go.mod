module gpuprobe.invalid/gpuprobe

go 1.19
