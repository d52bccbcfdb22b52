// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "base/value.h"
#include "engine/knowledge_base.h"
#include "knowledge/bundle.h"
#include "knowledge/chips.h"
#include "knowledge/drivers.h"
#include "knowledge/library.h"
#include "knowledge/places.h"
#include "knowledge/selectors.h"
#include "policy/application_set.h"
#include "policy/causes.h"
#include "policy/rules.h"
#include "report/api_table.h"

// This file installs bundles of data files. The code isn't in knowledge_base.cpp, because the
// small gpuprobectl must not load the library that checks signatures.

namespace gpuprobe::engine {
namespace {

constexpr Bytes kMaxKey = kib(4);

/// The public keys of the machine, from all files named *.pub.
std::vector<knowledge::PublicKey> keys_in(const KnowledgeFolders& folders) {
    const RootedFiles files;
    std::vector<knowledge::PublicKey> keys;
    for (const auto& folder : folders.keys)
        for (const auto& name : files.list(folder).value_or({})) {
            const auto text = name.ends_with(".pub") ? files.read(folder + "/" + name, kMaxKey)
                                                     : Error{ErrorCode::NotFound, ""};
            if (!text)
                continue;
            if (auto key = knowledge::public_key_from(*text, name))
                // Skip other files, because they contain no valid key.
                keys.push_back(std::move(*key));
        }
    return keys;
}

/// Converts PermissionDenied to NotAuthorized, because the caller needs other rights, not another
/// file.
Error unwritten(Error error) {
    if (error.code != ErrorCode::PermissionDenied)
        return error;
    return {ErrorCode::NotAuthorized,
            error.text + "; only root can change the knowledge base: use sudo"};
}

/// Locks the installed bundles until the descriptor is closed. Errors: NotAuthorized or Io;
/// Unavailable if another update is running.
Result<UniqueFd> lock_of(const KnowledgeFolders& folders) {
    const auto folder = open_folder(folders.state, FolderTrust::Named, MissingFolder::Make);
    if (!folder)
        return unwritten(folder.error());
    auto lock = lock_file(folders.state + "/lock");
    if (!lock)
        return unwritten(std::move(lock).error());
    if (!*lock)
        return Error{ErrorCode::Unavailable, folders.state + ": another update is running"};
    return lock;
}

Status removed(const std::string& path) {
    auto done = remove_file(path);
    return done ? std::move(done) : unwritten(std::move(done).error());
}

Status written(const std::string& path, std::string_view text) {
    auto done = write_atomically(path, text);
    return done ? std::move(done) : unwritten(std::move(done).error());
}

}  // namespace

Result<CheckedBundle> checked_bundle(const std::string& path,
                                     const KnowledgeFolders& folders,
                                     WallTime now) {
    CheckedBundle found{.file = std::make_shared<const std::string>(
                            TRY(RootedFiles{}.read(path, knowledge::kMaxBundle)))};
    const auto parts = TRY(knowledge::signed_text_in(*found.file));
    const auto keys = keys_in(folders);
    // Check the signature before parsing anything.
    found.key = TRY(knowledge::signer_of(parts, keys, now))->name;
    found.bundle = TRY(knowledge::bundle_from(parts.message, found.file, path));
    const auto expires = knowledge::instant_of(found.bundle.head.expires);
    if (!expires || now >= *expires)
        return Error{ErrorCode::InvalidRequest,
                     "bundle: has expired on " + found.bundle.head.expires};
    for (const auto& [name, document] : found.bundle.set.documents)
        if (auto checked = check_document(name, document.json); !checked)
            return std::move(checked).error().in("bundle: " + name);
    return found;
}

Status install(const CheckedBundle& bundle, const KnowledgeFolders& folders) {
    const auto lock = TRY(lock_of(folders));
    // The package or the compiled-in data files may be newer than the installed bundle.
    const auto in_use = knowledge_in(folders).library;
    const auto version = text_of(in_use->version());
    if (bundle.bundle.set.version <= in_use->version())
        return Error{ErrorCode::InvalidRequest, "bundle: version " + bundle.bundle.head.version +
                                                    " is not newer than " + version +
                                                    ", the version in use"};
    // Save the installed bundle first. After an interruption here, both files hold the same bundle.
    const RootedFiles files;
    if (const auto before = files.read(folders.bundle(), knowledge::kMaxBundle))
        TRY(written(folders.bundle_before(), *before));
    return written(folders.bundle(), *bundle.file);
}

Status roll_back(const KnowledgeFolders& folders) {
    if (!RootedFiles{}.exists(folders.bundle()))
        return Error{ErrorCode::NotFound, "knowledge: no bundle is installed"};
    const auto lock = TRY(lock_of(folders));
    const auto now = bundle_at(folders.bundle());
    const auto before = bundle_at(folders.bundle_before());
    // After an interrupted update, both files may be the same bundle.
    // A damaged bundle counts as older, so that the previous bundle replaces it.
    const bool is_another = before && (!now || before->set.version < now->set.version);
    if (!is_another) {
        TRY(removed(folders.bundle()));
        return removed(folders.bundle_before());
    }
    auto done = rename_file(folders.bundle_before(), folders.bundle());
    return done ? std::move(done) : unwritten(std::move(done).error());
}

}  // namespace gpuprobe::engine
