import { join } from 'node:path';
import { namesIn } from '../../base/index.ts';
import { isSecret } from '../policy/secret-files.ts';
import { coverMount } from './cover.ts';
import type { Mount } from './mount.ts';

/** Where programs store keys, passwords, cookies and histories in a home directory, in addition to `isSecret`. */
const PRIVATE =
  '.local/share/keyrings .local/share/kwalletd .local/share/gnome-keyring .mozilla .thunderbird .config/google-chrome .config/chromium ' +
  '.config/BraveSoftware .config/microsoft-edge .config/1Password .config/Bitwarden .config/op .config/rclone .config/hub .config/doctl ' +
  '.config/heroku .config/configstore .config/git/credentials .config/gcloud .config/gh .config/glab-cli .terraform.d/credentials.tfrc.json ' +
  '.cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml .gradle/gradle.properties .claude .claude.json .codex ' +
  '.gemini .config/github-copilot .bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .lesshst';

/**
 * Covers the secrets in a home directory, for a working directory that contains it. The user allows one by
 * naming it, or a directory in it, as an allowed path.
 */
export function homeSecretMounts(home: string, allowed: readonly string[]): readonly Mount[] {
  const candidates = PRIVATE.split(' ').map((name) => join(home, name));
  const named = ['', '.config', '.docker', '.local/share'].flatMap((directory) =>
    namesIn(join(home, directory)).map((name) => join(home, directory, name)),
  );
  const secrets = [...candidates, ...named.filter((path) => isSecret(path) && !isEditable(path))];
  return [...new Set(secrets)]
    .filter((path) => !allowed.includes(path))
    .flatMap((path) => coverMount(path) ?? []);
}

/**
 * Named like secrets, but mostly settings. Commands in a home directory need them, and start-up files are
 * read-only.
 */
function isEditable(path: string): boolean {
  return path.endsWith('/.envrc');
}
