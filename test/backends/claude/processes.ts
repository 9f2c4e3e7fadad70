import { readdirSync, readFileSync } from 'node:fs';

/** The command lines of all processes whose environment or command line contains a text. */
export function listProcesses(text: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const [command, environment] = ['cmdline', 'environ'].map((file) => contentOf(`/proc/${pid}/${file}`));
      return `${command}${environment}`.includes(text) ? [`${command}`.replaceAll('\0', ' ')] : [];
    });
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
}
