import { isAbsolute, join, relative } from 'node:path';

/** The paths inside a host's directory. */
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

  /** Versions of files that agents have changed. */
  get savedFiles(): string {
    return join(this.directory, 'saved-files');
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

  savedFilesOf(id: string): string {
    return join(this.savedFiles, id);
  }

  /** The path as stored in the catalogue: relative inside the directory, so that the directory can be moved. */
  named(file: string): string {
    const inside = relative(this.directory, file);
    return inside.startsWith('..') || isAbsolute(inside) ? file : inside;
  }

  /** Resolves a path from the catalogue. */
  path(name: string): string {
    return isAbsolute(name) ? name : join(this.directory, name);
  }
}
