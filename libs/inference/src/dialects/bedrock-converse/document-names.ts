const LONGEST_NAME = 100;
const PLAIN_NAME = 'document';

/**
 * Names for the documents of one request. Bedrock takes few characters, shows the name to the model, and
 * refuses a request in which two documents have the same one. The same conversation always gets the same names,
 * so that its prompt stays in the prompt cache.
 */
export class DocumentNames {
  readonly #taken = new Set<string>();
  /** Next number to try, by name: a caller may give all documents the same name. */
  readonly #next = new Map<string, number>();

  /** The name of the next document. */
  next(filename: string | undefined): string {
    const name = plain(filename) || PLAIN_NAME;
    const key = name.toLowerCase();
    for (let number = this.#next.get(key) ?? 1; ; number += 1) {
      const candidate = number === 1 ? name : `${name}-${number}`;
      if (this.#taken.has(candidate.toLowerCase())) continue;
      this.#taken.add(candidate.toLowerCase());
      this.#next.set(key, number + 1);
      return candidate;
    }
  }
}

/** Returns the name without extension, reduced to letters, digits, hyphens, brackets and single spaces. */
function plain(filename: string | undefined): string {
  return (filename ?? '')
    .slice(0, LONGEST_NAME)
    .replace(/\.[A-Za-z0-9]{1,8}$/, '')
    .replace(/[^A-Za-z0-9\-()[\]\s]+/g, '-')
    .replace(/\s+/g, ' ')
    .trim();
}
