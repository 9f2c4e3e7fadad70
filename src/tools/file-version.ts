/** The content and the mode of a file. */
export interface FileVersion {
  /** Undefined if the file is too large to be kept. */
  readonly bytes: Uint8Array | undefined;
  readonly mode: number;
}

/** A change of a file that is about to happen. `undefined` means that the file does not exist. */
export interface FileWrite {
  /** Absolute, without links. */
  readonly path: string;
  readonly before: FileVersion | undefined;
  readonly after: FileVersion | undefined;
  /** The directories that were created for the file, outermost first. */
  readonly directories?: readonly string[];
}

/** Saves the previous version of a file before it changes. Rejects if that fails. */
export type RecordFileWrite = (write: FileWrite) => Promise<void>;
