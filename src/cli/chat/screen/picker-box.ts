import {
  type Key,
  type LiveArea,
  newPicker,
  type PickerItem,
  type PickerState,
  pickerWidth,
  renderPicker,
  updatePicker,
} from '../../../terminal/index.ts';

/** Lets the user choose one of several items; resolves with its value, or undefined if none was chosen. */
export type PickItem = (
  title: string,
  items: readonly PickerItem[],
  current?: string,
) => Promise<string | undefined>;

/** Shows a list with a filter instead of the input, until the user chooses or closes it. */
export class PickerBox {
  #shown: { readonly state: PickerState; readonly settle: (value: string | undefined) => void } | undefined;

  get isOpen(): boolean {
    return this.#shown !== undefined;
  }

  readonly pick: PickItem = (title, items, current) => {
    this.close();
    return new Promise((settle) => (this.#shown = { state: newPicker(title, items, current), settle }));
  };

  press(key: Key, columns: number): void {
    if (this.#shown === undefined) return;
    const { state, event } = updatePicker(this.#shown.state, key, pickerWidth(columns));
    if (event === undefined) this.#shown = { ...this.#shown, state };
    else this.close(event.type === 'picked' ? event.value : undefined);
  }

  close(value?: string): void {
    const shown = this.#shown;
    this.#shown = undefined;
    shown?.settle(value);
  }

  draw(width: number, rows: number): LiveArea | undefined {
    return this.#shown && renderPicker(this.#shown.state, { width, rows });
  }
}
