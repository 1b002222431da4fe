import type { ByteEdit } from '@libs/json';

/** An element of a JSON array, by its place in the text. */
export interface ListElement {
  readonly start: number;
  readonly end: number;
  readonly isKept: boolean;
}

/**
 * Returns the edits that remove the elements that are not kept, each with the comma before it, or, if no element before
 * it is kept, the comma after it. At least one element must be kept.
 */
export function removalsOf(elements: readonly ListElement[]): ByteEdit[] {
  const first = elements.findIndex(({ isKept }) => isKept);
  return elements.flatMap(({ start, end, isKept }, index) => {
    if (isKept) return [];
    if (index < first) return { start, end: elements[index + 1]!.start, text: '' };
    return { start: elements[index - 1]!.end, end, text: '' };
  });
}
