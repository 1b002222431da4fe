/** Interval, in characters, at which the offset of a character is stored. */
const STEP = 1_024;

/**
 * Finds characters of a text by their index without reading the text from its start each time. The text is read only
 * once, however many characters are looked up. It may grow between lookups.
 */
export class CharacterPlaces {
  /** Offsets, in UTF-16 units, of the characters whose index is a multiple of `STEP`. */
  readonly #marks = [0];

  /** Returns the offset of a character in UTF-16 units; the length of a text with fewer characters. */
  unitAt(text: string, character: number): number {
    const wanted = Math.max(0, Math.trunc(character));
    const mark = Math.floor(wanted / STEP);
    while (this.#marks.length <= mark) {
      const next = stepped(text, this.#marks.at(-1)!, STEP);
      if (next === null) return text.length;
      this.#marks.push(next);
    }
    return stepped(text, this.#marks[mark]!, wanted % STEP) ?? text.length;
  }
}

/** Returns the offset a number of characters after `from`; null beyond the end of the text. */
function stepped(text: string, from: number, characters: number): number | null {
  let at = from;
  for (let left = characters; left > 0; left -= 1) {
    if (at >= text.length) return null;
    at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  }
  return at;
}
