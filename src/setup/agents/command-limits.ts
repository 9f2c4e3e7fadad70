import {
  type BackgroundLimits,
  type CommandLimiter,
  commandLimiter,
  DEFAULT_BACKGROUND_LIMITS,
  DEFAULT_COMMAND_LIMITS,
} from '../../tools/index.ts';
import type { Config } from '../config/config.ts';

/** Creates a limiter with the configured limits and the defaults for the others. */
export function createCommandLimiter(
  { daemon }: Pick<Config, 'daemon'>,
  env: Readonly<Record<string, string>>,
): CommandLimiter {
  const { memory, processes, file_size: fileSize, open_files: openFiles, cpu } = daemon.commandLimits ?? {};
  const cpuSeconds = cpu === undefined ? undefined : Math.max(1, Math.ceil(cpu / 1_000));
  const configured = Object.entries({ memory, processes, fileSize, openFiles, cpuSeconds }).filter(
    ([, limit]) => limit !== undefined,
  );
  const all = Object.entries({ ...DEFAULT_COMMAND_LIMITS, ...Object.fromEntries(configured) });
  return commandLimiter({
    limits: Object.fromEntries(all.filter(([, limit]) => limit !== Number.POSITIVE_INFINITY)),
    isMemoryStated: memory !== undefined,
    env,
  });
}

/** Returns the configured limits of background commands, and the defaults for the others. */
export function backgroundLimits({ daemon }: Pick<Config, 'daemon'>): BackgroundLimits {
  const { running = DEFAULT_BACKGROUND_LIMITS.running, time } = daemon.backgroundLimits ?? {};
  if (time === undefined) return { ...DEFAULT_BACKGROUND_LIMITS, running };
  return { running, seconds: Math.max(1, Math.floor(time / 1_000)) };
}
