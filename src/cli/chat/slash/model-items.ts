import type { ListedModel } from '../../../setup/index.ts';
import type { PickerItem } from '../../../terminal/index.ts';
import type { PodLocation } from '../../hosting/index.ts';

/** The models to choose from: those that can be used first, and the others with the reason. */
export async function modelItems({ models }: Pick<PodLocation, 'models'>): Promise<readonly PickerItem[]> {
  return usableFirst(await models()).map(({ reference, problem }) => ({
    value: reference,
    label: reference,
    detail: problem ?? '',
  }));
}

/** Orders models so that those that can be used come first. */
export function usableFirst(models: readonly ListedModel[]): readonly ListedModel[] {
  const isUsable = ({ problem }: ListedModel): number => (problem === undefined ? 0 : 1);
  return models.toSorted((one, other) => isUsable(one) - isUsable(other));
}
