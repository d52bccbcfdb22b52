// SPDX-License-Identifier: Apache-2.0
#include "inventory/setup.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/text.h"
#include "base/version.h"
#include "knowledge/drivers.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr Bytes kMaxFile = kib(64);
constexpr Bytes kMaxModuleList = mib(4);  // the list of a distribution takes half a mebibyte
constexpr std::size_t kMaxText = 256;
constexpr std::size_t kMaxReleaseWords = 64;
constexpr std::size_t kMaxFiles = 128;
constexpr const char* kCommandLine = "/proc/cmdline";
constexpr const char* kNvidiaParameters = "/proc/driver/nvidia/params";
constexpr const char* kSecurityLabel = "/proc/self/attr/current";
constexpr std::string_view kSnap = "snap.";
constexpr std::array<std::string_view, 7> kReleaseKeys = {"ID",
                                                          "ID_LIKE",
                                                          "VERSION_ID",
                                                          "VARIANT_ID",
                                                          "VERSION_CODENAME",
                                                          "UBUNTU_CODENAME",
                                                          "DEBIAN_CODENAME"};

using knowledge::SetupWords;
using Words = std::vector<std::string>;

/// Words in the names of NVIDIA's modules on distributions that can install several driver versions
/// at once, such as Debian's nvidia-current, nvidia-current-open-uvm, nvidia-tesla-535,
/// nvidia-legacy-390xx-drm, and Ubuntu's nvidia_390 before 18.04. Source:
/// devleonardoamaral/debian-nvidia-installer, usr/lib/debian-nvidia-installer/nvidia.sh;
/// Bumblebee-Project/Bumblebee#239.
constexpr std::array<std::string_view, 3> kFlavours = {"current", "tesla", "legacy"};
constexpr std::array<std::string_view, 4> kNvidiaParts = {"_drm", "_modeset", "_peermem", "_uvm"};

/// The kernel's name for a distribution's NVIDIA module, such as "nvidia_drm" for
/// "nvidia_current_drm".
std::string without_flavour(std::string name) {
    constexpr std::string_view kLead = "nvidia_";
    if (!name.starts_with(kLead))
        return name;
    const auto rest = std::string_view{name}.substr(kLead.size());
    const bool has_number = !rest.empty() && rest.front() >= '0' && rest.front() <= '9';
    if (!has_number && std::ranges::none_of(kFlavours, [rest](std::string_view flavour) {
            return rest.starts_with(flavour);
        }))
        return name;
    for (const auto part : kNvidiaParts)
        if (name.ends_with(part))
            return "nvidia" + std::string{part};
    return "nvidia";
}

/// A module's name with underscores, because the kernel treats "-" and "_" as equal
/// (kernel/params.c).
std::string module_name(std::string_view text) {
    std::string name{text};
    std::ranges::replace(name, '-', '_');
    return without_flavour(std::move(name));
}

Words sorted(const std::set<std::string>& names) {
    return {names.begin(), names.end()};
}

/// The words on the kernel's command line that concern GPUs, PCI and the IOMMU. All other words on
/// the command line are dropped.
Words parameters_in(std::string_view command_line) {
    Words kept;
    for (const auto word : words(trimmed(command_line)))
        if (kept.size() < kMaxReleaseWords &&
            std::ranges::any_of(SetupWords::current().command_line,
                                [word](const std::string& lead) { return word.starts_with(lead); }))
            kept.push_back(scrubbed(word, kMaxText));
    return kept;
}

std::optional<Words> parameters(const FileSystem& files) {
    const auto line = files.read(kCommandLine, kMaxFile);
    return line ? std::optional{parameters_in(*line)} : std::nullopt;
}

/// The variable SecureBoot of the UEFI specification, 3.3: four bytes of attributes, then 1 or 0.
/// nullopt if the variable can't be read.
std::optional<bool> secure_boot(const FileSystem& files) {
    constexpr Bytes kSize{5};
    const auto content = files.read(
        "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", kSize);
    if (!content || content->size() != kSize.count)
        return std::nullopt;
    return content->back() == 1;
}

/// The word in brackets in a line such as "none [integrity] confidentiality".
std::optional<std::string> lockdown(const FileSystem& files) {
    const auto line = files.line("/sys/kernel/security/lockdown").value_or("");
    for (const auto word : words(line))
        if (word.size() > 2 && word.starts_with('[') && word.ends_with(']'))
            return scrubbed(word.substr(1, word.size() - 2), kMaxText);
    return std::nullopt;
}

std::optional<std::uint64_t> tainted(const FileSystem& files) {
    const auto line = files.line("/proc/sys/kernel/tainted");
    return line ? parse_number<std::uint64_t>(*line) : std::nullopt;
}

/// Adds the module if it belongs to a graphics or accelerator driver.
void add_module(std::string_view text, std::set<std::string>& names) {
    if (auto name = module_name(text); SetupWords::current().has_module(name))
        names.insert(std::move(name));
}

/// Adds the modules that a modprobe.d file keeps from loading with a line such as "blacklist
/// nouveau", "install nouveau /bin/false" or "alias nouveau off".
void add_blacklisted(std::string_view text, std::set<std::string>& names) {
    for (const auto line : split(text, '\n')) {
        const auto columns = words(line);
        const bool is_shut = columns.size() >= 2 && columns[0] == "blacklist";
        const bool is_replaced = columns.size() >= 3 && columns[0] == "install" &&
                                 (columns[2] == "/bin/false" || columns[2] == "/bin/true" ||
                                  columns[2] == "/usr/bin/false" || columns[2] == "/usr/bin/true");
        const bool is_off = columns.size() >= 3 && columns[0] == "alias" && columns[2] == "off";
        if (is_shut || is_replaced || is_off)
            add_module(columns[1], names);
    }
}

/// Adds the modules that the kernel's command line keeps from loading, as in
/// "modprobe.blacklist=nouveau,nvidiafb". modprobe, the kernel and dracut each have such a
/// parameter; initcall_blacklist does not contain modules.
void add_blacklisted(const Words& parameters, std::set<std::string>& names) {
    for (const auto& parameter : parameters) {
        const auto equals = parameter.find('=');
        if (equals != std::string::npos && parameter.find("blacklist") < equals &&
            !parameter.starts_with("initcall"))
            for (const auto name : split(std::string_view{parameter}.substr(equals + 1), ','))
                add_module(name, names);
    }
}

/// The folders in which modprobe searches for its configuration. Source: modprobe.d(5).
constexpr std::array kModprobeFolders{"/etc/modprobe.d", "/run/modprobe.d",
                                      "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d",
                                      "/lib/modprobe.d"};

/// The modules that are kept from loading; nullopt if no folder can be read and the command line
/// does not keep a module from loading.
std::optional<Words> blacklist(const FileSystem& files, const std::optional<Words>& parameters) {
    std::set<std::string> names;
    if (parameters)
        add_blacklisted(*parameters, names);
    bool is_known = !names.empty();
    // Most distributions have merged /lib into /usr/lib.
    const bool is_merged = files.link_target("/lib").value_or("") == "usr/lib";
    for (const std::string folder : kModprobeFolders) {
        if (is_merged && folder == "/lib/modprobe.d")
            continue;
        const auto found = files.list(folder);
        is_known = is_known || found;
        for (std::size_t i = 0; found && i < std::min(found->size(), kMaxFiles); ++i)
            if ((*found)[i].ends_with(".conf"))
                if (const auto text = files.read(folder + "/" + (*found)[i], kMaxFile))
                    add_blacklisted(*text, names);
    }
    return is_known ? std::optional{sorted(names)} : std::nullopt;
}

/// All modules that are loaded or built in; nullopt without sysfs.
std::optional<std::set<std::string>> modules_in(const FileSystem& files) {
    const auto names = files.list("/sys/module");
    if (!names)
        return std::nullopt;
    return std::set<std::string>{names->begin(), names->end()};
}

/// The loaded and built-in modules that are graphics modules.
std::optional<Words> loaded(const std::optional<std::set<std::string>>& modules) {
    if (!modules)
        return std::nullopt;
    Words found;
    std::ranges::copy_if(SetupWords::current().modules, std::back_inserter(found),
                         [&modules](const auto& module) { return modules->contains(module); });
    return found;
}

/// Adds the graphics modules in a list. A line of modules.dep is
/// "kernel/drivers/gpu/drm/xe/xe.ko.xz: …"; a line of modules.builtin is only the path.
void add_installed(std::string_view list, std::set<std::string>& names) {
    for (const auto line : split(list, '\n')) {
        const auto path = line.substr(0, line.find(':'));
        const auto file = path.substr(path.rfind('/') + 1);
        add_module(file.substr(0, file.find(".ko")), names);
    }
}

/// The graphics modules that are installed for the kernel or built into it.
std::optional<Words> installed(const FileSystem& files, const std::string& kernel) {
    std::set<std::string> names;
    bool is_known = false;
    for (const auto* list : {"modules.dep", "modules.builtin"})
        if (const auto text =
                files.read("/lib/modules/" + kernel + "/" + std::string{list}, kMaxModuleList)) {
            add_installed(*text, names);
            is_known = true;
        }
    return is_known ? std::optional{sorted(names)} : std::nullopt;
}

/// The module parameters in use, such as "nvidia.NVreg_EnableGpuFirmware=18".
Words options(const FileSystem& files, const std::optional<std::set<std::string>>& modules) {
    Words found;
    const auto& known = SetupWords::current();
    for (const auto& parameter : known.parameters) {
        const auto dot = parameter.find('.');
        if (!modules || !modules->contains(parameter.substr(0, dot)))
            continue;
        const auto path =
            "/sys/module/" + parameter.substr(0, dot) + "/parameters/" + parameter.substr(dot + 1);
        if (const auto value = files.line(path); value && !value->empty())
            found.push_back(scrubbed(parameter + "=" + *value, kMaxText));
    }
    // /sys/module does not contain NVIDIA's parameters, which are in one file, without the prefix
    // "NVreg_".
    const auto params = files.read(kNvidiaParameters, kMaxFile);
    for (const auto line : split(params ? std::string_view{*params} : std::string_view{}, '\n')) {
        const auto colon = line.find(':');
        if (colon == std::string_view::npos)
            continue;
        const auto name = line.substr(0, colon);
        if (std::ranges::count(known.nvidia_parameters, name) > 0)
            found.push_back(scrubbed("nvidia.NVreg_" + std::string{name} + "=" +
                                         std::string{trimmed(line.substr(colon + 1))},
                                     kMaxText));
    }
    return found;
}

std::optional<bool> uses_iommu(const FileSystem& files) {
    const auto units = files.list("/sys/class/iommu");
    return units ? std::optional{!units->empty()} : std::nullopt;
}

/// The lines whose part before `sign` equals one of `keys`.
template <class Keys>
std::string lines_with(const Keys& keys, char sign, std::string_view text) {
    std::string kept;
    for (const auto line : split(text, '\n'))
        if (std::ranges::find(keys, trimmed(line.substr(0, line.find(sign)))) != keys.end())
            kept.append(line).append("\n");
    return kept;
}

/// The string without the quotation marks that are allowed in os-release.
std::string unquoted(std::string_view text) {
    text = trimmed(text);
    const bool is_quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                           text.back() == text.front();
    return scrubbed(is_quoted ? text.substr(1, text.size() - 2) : text, kMaxText);
}

bool is_release_key(std::string_view key) {
    return std::ranges::find(kReleaseKeys, key) != kReleaseKeys.end();
}

/// Adds a codename. A distribution and its parent may have the same codename, which is added only
/// once.
void add_codename(const std::string& name, Words& codenames) {
    if (std::ranges::find(codenames, name) == codenames.end())
        codenames.push_back(name);
}

}  // namespace

std::optional<OsRelease> os_release_of(const FileSystem& files) {
    // Synology's DSM does not have the file os-release.
    if (files.exists("/etc.defaults/VERSION"))
        return OsRelease{.id = "synology-dsm"};
    auto text = files.read("/etc/os-release", kMaxFile);
    if (!text)
        text = files.read("/usr/lib/os-release", kMaxFile);
    if (!text)
        return std::nullopt;
    OsRelease release;
    for (const auto line : split(*text, '\n')) {
        const auto equals = line.find('=');
        if (equals == std::string_view::npos)
            continue;
        const auto key = trimmed(line.substr(0, equals));
        const auto value = unquoted(line.substr(equals + 1));
        if (value.empty())
            continue;
        if (key == "ID")
            release.id = lower_case(value);
        else if (key == "VERSION_ID")
            release.version_id = value;
        else if (key == "VARIANT_ID")
            release.variant_id = lower_case(value);
        else if (key.ends_with("_CODENAME") && is_release_key(key))
            add_codename(lower_case(value), release.codenames);
        else if (key == "ID_LIKE" && release.id_like.empty())
            for (const auto word : words(value))
                if (release.id_like.size() < kMaxReleaseWords)
                    release.id_like.push_back(lower_case(word));
    }
    // The system is the 64-bit Raspberry Pi OS (see setup.h).
    if (release.id == "debian" && files.exists("/etc/rpi-issue"))
        release = {.id = "raspbian",
                   .id_like = {"debian"},
                   .version_id = release.version_id,
                   .codenames = release.codenames};
    return release;
}

std::optional<std::string> setup_part(std::string_view path, std::string_view content) {
    if (path == kCommandLine)
        return base::joined(parameters_in(content), " ") + "\n";
    if (path == kNvidiaParameters)
        return lines_with(SetupWords::current().nvidia_parameters, ':', content);
    if (path == kSecurityLabel)
        return std::string{content.starts_with(kSnap) ? content : ""};
    if (path.ends_with("/os-release"))
        return lines_with(kReleaseKeys, '=', content);
    if (std::ranges::none_of(kModprobeFolders,
                             [path](std::string_view folder) { return path.starts_with(folder); }))
        return std::nullopt;
    std::set<std::string> names;
    // Keep only the parsed modules, written as lines that parse to the same modules.
    add_blacklisted(content, names);
    std::string kept;
    for (const auto& name : names)
        kept += "blacklist " + name + "\n";
    return kept;
}

std::optional<std::string> python_of(const FileSystem& files) {
    // On Fedora and RHEL, python3 is a link to /etc/alternatives, where another link leads to
    // python3.9.
    constexpr int kMaxPythonLinks = 4;
    constexpr std::string_view kLead = "python";
    std::string path = "/usr/bin/python3";
    for (int links = 0; links < kMaxPythonLinks; ++links) {
        const auto target = files.link_target(path);
        if (!target)
            break;
        path = target->starts_with('/') ? *target : path.substr(0, path.rfind('/') + 1) + *target;
        const auto name = std::string_view{path}.substr(path.rfind('/') + 1);
        const auto version = name.starts_with(kLead) ? name.substr(kLead.size()) : "";
        if (is_python_version(version))
            return std::string{version};
    }
    return std::nullopt;
}

std::optional<std::string> sandbox_of(const FileSystem& files) {
    if (files.exists("/.flatpak-info"))
        return "flatpak";
    if (files.exists("/run/.toolboxenv"))
        return "toolbox";
    const auto profile = files.line(kSecurityLabel);
    return profile && profile->starts_with(kSnap) ? std::optional<std::string>{"snap"}
                                                  : std::nullopt;
}

KernelSetup kernel_setup(const FileSystem& files, const std::optional<std::string>& kernel) {
    auto words = parameters(files);
    auto shut = blacklist(files, words);
    const auto modules = modules_in(files);
    return {.parameters = std::move(words),
            .secure_boot = secure_boot(files),
            .lockdown = lockdown(files),
            .tainted = tainted(files),
            .blacklist = std::move(shut),
            .loaded = loaded(modules),
            .installed = kernel ? installed(files, *kernel) : std::nullopt,
            .options = options(files, modules),
            .iommu = uses_iommu(files)};
}

}  // namespace gpuprobe::inline inventory
