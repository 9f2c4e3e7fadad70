/** A promise that is settled from outside. */
export class Deferred {
  readonly promise: Promise<void>;
  resolve: (outcome?: Promise<void>) => void = () => {};
  reject: (reason: Error) => void = () => {};

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}
