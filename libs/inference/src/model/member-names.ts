/**
 * Field names in every spelling that some JSON parser accepts: some ignore case, some accept `fileId` for `file_id`.
 */
export class MemberNames {
  readonly #exact: ReadonlySet<string>;
  readonly #byPlain: ReadonlyMap<string, string>;

  /** @param names in lower case with underscores between words */
  constructor(names: readonly string[]) {
    this.#exact = new Set(names);
    this.#byPlain = new Map(names.map((name) => [plain(name), name]));
  }

  has(name: string): boolean {
    return this.find(name) !== undefined;
  }

  /** Returns the standard spelling of a name; undefined for other names. */
  find(name: string): string | undefined {
    if (this.#exact.has(name)) return name;
    // Most names are already in lower case, so no normalized copy is needed.
    return this.#byPlain.get(UNUSUAL.test(name) ? plain(name) : name);
  }
}

const UNUSUAL = /[^a-z0-9_]/;

/** Normalizes a name. Parsers that ignore case also accept the Kelvin sign for k, and the long s for s. */
function plain(name: string): string {
  return name.length > LONGEST ? name : name.toLowerCase().replace(/[_-]/g, '').replaceAll('ſ', 's');
}

const LONGEST = 64;
