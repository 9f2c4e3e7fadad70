import { PolypodError } from '../../base/index.ts';
import type { Model } from '../../llm/index.ts';
import { type Transport, transportFrom } from '../../wire/index.ts';
import type { ConnectedModels } from './connected-models.ts';
import type { ListedModel, ModelAccessOptions, ReadyModel } from './ready-model.ts';

/** Finds models by reference, and connects each of them once. Loads providers and models with its first use. */
export class ModelAccess {
  readonly #options: ModelAccessOptions;
  readonly #transport: Transport;
  #connected: Promise<ConnectedModels> | undefined;
  #best: Model | undefined;

  constructor(options: ModelAccessOptions) {
    this.#options = options;
    // Throws if the environment names an invalid proxy.
    this.#transport = transportFrom(options.env);
  }

  /** The default model; available after `choose`. */
  get best(): Model {
    if (this.#best === undefined) throw new PolypodError('internal', 'no model has been chosen yet');
    return this.#best;
  }

  /** Chooses the referenced model, else one with a key, else a local Ollama model, else the simulated model. */
  async choose(reference?: string, signal?: AbortSignal): Promise<ReadyModel> {
    const ready = await (await this.#models()).choose(reference, signal);
    if (reference === undefined) this.#best = ready.model;
    return ready;
  }

  /** Finds a model by a Claude Code alias such as `opus`, or by reference; undefined if it is unavailable. */
  async find(word: string): Promise<ReadyModel | undefined> {
    return (await this.#models()).find(word);
  }

  /** All known models, and why some of them cannot be used. */
  async list(): Promise<readonly ListedModel[]> {
    return (await this.#models()).list();
  }

  async close(): Promise<void> {
    await (await this.#connected)?.close();
  }

  #models(): Promise<ConnectedModels> {
    this.#connected ??= import('./connected-models.ts').then(
      ({ ConnectedModels: Models }) => new Models(this.#options, this.#transport),
    );
    return this.#connected;
  }
}
