const WIDTH = 20;

/** Renders the progress of a task, 0 to 100; empty if it is unknown. */
export function progressBar(progress: number | undefined): string {
  if (progress === undefined) return '';
  const share = Math.min(100, Math.max(0, progress)) / 100;
  const full = Math.round(share * WIDTH);
  return `▕${'█'.repeat(full)}${'░'.repeat(WIDTH - full)}▏ ${Math.round(share * 100)} %`;
}
