/**
 * Field names in every spelling that some JSON parser accepts: some ignore letter case, some take `fileId` for
 * `file_id`.
 */
export class MemberNames {
  readonly #exact: ReadonlySet<string>;
  readonly #byPlain: ReadonlyMap<string, string>;

  /** @param names in lower case, words joined by underscores */
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
    // Most names are in lower case, so that no other spelling has to be made of them.
    return this.#byPlain.get(UNUSUAL.test(name) ? plain(name) : name);
  }
}

const UNUSUAL = /[^a-z0-9_]/;

/** Parsers that ignore letter case also take the kelvin sign for a k, and a long s for an s. */
function plain(name: string): string {
  return name.length > LONGEST ? name : name.toLowerCase().replace(/[_-]/g, '').replaceAll('ſ', 's');
}

const LONGEST = 64;
