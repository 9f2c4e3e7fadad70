/** Variables that programs need; all others are removed, since any of them may contain a secret. */
const ALLOWED =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TERM|COLORTERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|CI|EDITOR|PAGER|PWD|SHLVL|MAKEFLAGS|CC|CXX|CPP|AR|LD|CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS|PKG_CONFIG_\w+|CMAKE_\w+|LD_LIBRARY_PATH|NODE_ENV|NODE_PATH|NODE_OPTIONS|NVM_\w+|VOLTA_HOME|BUN_INSTALL|DENO_\w+|PYTHON\w+|PYENV_\w+|VIRTUAL_ENV|CONDA_PREFIX|CONDA_DEFAULT_ENV|CARGO_HOME|CARGO_TARGET_DIR|RUSTUP_\w+|RUSTFLAGS|RUST_BACKTRACE|GO\w+|CGO_\w+|JAVA_HOME|JAVA_TOOL_OPTIONS|JDK_HOME|MAVEN_HOME|GRADLE_HOME|ANDROID_HOME|RBENV_\w+|GEM_HOME|GEM_PATH|RUBYOPT|ASDF_\w+|SDKMAN_\w+|DOTNET_ROOT|HOMEBREW_PREFIX|NIX_PATH|GIT_(?:OPTIONAL_LOCKS|CONFIG_COUNT|CONFIG_KEY_\d+|CONFIG_VALUE_\d+|AUTHOR_\w+|COMMITTER_\w+|EDITOR|PAGER|TERMINAL_PROMPT)|SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|GIT_SSL_CAINFO)$/;

/** Variables that name a certificate file; the file is visible to commands. */
export const CERTIFICATE_VARIABLES = [
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
];

/** Returns the environment of a sandboxed command: what programs need, and what the user passes by name. */
export function cleanEnv(
  env: Readonly<Record<string, string>>,
  pass: readonly string[],
): Readonly<Record<string, string>> {
  const allowed = Object.entries(env).filter(([name]) => ALLOWED.test(name) || pass.includes(name));
  return { ...Object.fromEntries(allowed), TMPDIR: '/tmp' };
}
