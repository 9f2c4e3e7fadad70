// The compiler does not carry the executable bit over; a linked or packed command needs it.
import { chmodSync } from 'node:fs';

chmodSync(new URL('../dist/cli/main.js', import.meta.url), 0o755);
