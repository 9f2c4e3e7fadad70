import { isAbsolute, join, relative } from 'node:path';

/** Where a host keeps what, inside of its directory. */
export class Layout {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  get catalogue(): string {
    return join(this.directory, 'catalogue.jsonl');
  }

  get sessions(): string {
    return join(this.directory, 'sessions');
  }

  get feeds(): string {
    return join(this.directory, 'feeds');
  }

  get trash(): string {
    return join(this.directory, 'trash');
  }

  session(id: string): string {
    return join(this.sessions, `${id}.jsonl`);
  }

  feed(id: string): string {
    return join(this.feeds, id);
  }

  /** The path as the catalogue keeps it: what is inside moves with the directory. */
  named(file: string): string {
    const inside = relative(this.directory, file);
    return inside.startsWith('..') || isAbsolute(inside) ? file : inside;
  }

  /** The path behind what the catalogue keeps. */
  path(name: string): string {
    return isAbsolute(name) ? name : join(this.directory, name);
  }
}
