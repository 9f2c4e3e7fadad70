const WIDTH = 20;

/** How far a task is, 0 to 100, in a picture; nothing where nobody knows. */
export function progressBar(progress: number | undefined): string {
  if (progress === undefined) return '';
  const share = Math.min(100, Math.max(0, progress)) / 100;
  const full = Math.round(share * WIDTH);
  return `▕${'█'.repeat(full)}${'░'.repeat(WIDTH - full)}▏ ${Math.round(share * 100)} %`;
}
