import { printable } from '../catalogue-draft/printable';

const SHOWN = 5;

/** What could not be converted and why. The same reason in several places becomes one note. */
export class ImportNotes {
  readonly #places = new Map<string, string[]>();

  /** `place` is a path in the file, never a value in it. */
  add(place: string, reason: string): void {
    const places = this.#places.get(reason);
    if (places) places.push(place);
    else this.#places.set(reason, [place]);
  }

  get lines(): readonly string[] {
    return [...this.#places].map(([reason, places]) => printable(`${placesText(places)}: ${reason}.`));
  }
}

function placesText(places: readonly string[]): string {
  const shown = places.slice(0, SHOWN).join(', ');
  return places.length <= SHOWN ? shown : `${shown} and ${places.length - SHOWN} more`;
}
