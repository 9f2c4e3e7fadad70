/** Every provider and every door. They are in two files: whoever opens doors loads no provider. */
export { podDoor } from './protocols/pod/door.ts';
export { doors, type KnownDoor } from './registry/doors.ts';
export { providerNamed, providers } from './registry/providers.ts';
