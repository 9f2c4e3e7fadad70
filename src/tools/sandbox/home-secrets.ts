import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isSecret } from '../policy/secret-files.ts';
import { coverOf } from './cover.ts';
import type { Mount } from './mount.ts';

/** Where programs keep keys, passwords, cookies and histories below a home directory, beside what `isSecret` names. */
const PRIVATE =
  '.local/share/keyrings .local/share/kwalletd .local/share/gnome-keyring .mozilla .thunderbird .config/google-chrome .config/chromium ' +
  '.config/BraveSoftware .config/microsoft-edge .config/1Password .config/Bitwarden .config/op .config/rclone .config/hub .config/doctl ' +
  '.config/heroku .config/configstore .config/git/credentials .config/gcloud .config/gh .config/glab-cli .terraform.d/credentials.tfrc.json ' +
  '.cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml .gradle/gradle.properties .claude .claude.json .codex ' +
  '.gemini .config/github-copilot .bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .lesshst';

/**
 * Covers what a home directory holds of secrets, for a working directory that contains the home directory. The user
 * allows one by naming it, or a directory in it, as a path that the agent may use.
 */
export function homeSecretMounts(home: string, allowed: readonly string[]): readonly Mount[] {
  const known = PRIVATE.split(' ').map((name) => join(home, name));
  const named = ['', '.config', '.docker', '.local/share'].flatMap((directory) =>
    namesIn(join(home, directory)).map((name) => join(home, directory, name)),
  );
  const secrets = [...known, ...named.filter((path) => isSecret(path) && !isEditable(path))];
  return [...new Set(secrets)]
    .filter((path) => !allowed.includes(path))
    .flatMap((path) => coverOf(path) ?? []);
}

/** Named like secrets, and mostly settings. Commands in a home directory need them, and start-up files are read-only. */
function isEditable(path: string): boolean {
  return path.endsWith('/.envrc');
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
