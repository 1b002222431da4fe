/** Tells where JSON text that comes in pieces closes the bracket that it began with, keeping none of it. */
export class JsonBalance {
  #depth = 0;
  #hasBegun = false;
  #isInString = false;
  #isEscaped = false;

  get isClosed(): boolean {
    return this.#hasBegun && this.#depth === 0;
  }

  push(text: string): void {
    for (const character of text) this.#step(character);
  }

  #step(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#isInString) this.#stepInString(character);
    else if (character === '"') this.#isInString = true;
    else if (character === '{' || character === '[') {
      this.#depth += 1;
      this.#hasBegun = true;
    } else if (character === '}' || character === ']') this.#depth -= 1;
  }

  #stepInString(character: string): void {
    if (character === '\\') this.#isEscaped = true;
    else if (character === '"') this.#isInString = false;
  }
}
