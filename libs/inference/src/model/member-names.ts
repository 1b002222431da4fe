/**
 * Names of members, in every spelling that some parser takes for them: readers of JSON that pass over letter case, and
 * those that take `fileId` for `file_id`.
 */
export class MemberNames {
  readonly #exact: ReadonlySet<string>;
  readonly #plain: ReadonlySet<string>;

  /** @param names in lower case, words joined by underscores */
  constructor(names: readonly string[]) {
    this.#exact = new Set(names);
    this.#plain = new Set(names.map(plain));
  }

  /** Most names are in lower case, so that no other spelling has to be made of them. */
  has(name: string): boolean {
    return this.#exact.has(name) || (UNUSUAL.test(name) && this.#plain.has(plain(name)));
  }
}

const UNUSUAL = /[^a-z0-9_]/;

function plain(name: string): string {
  return name.length > LONGEST ? name : name.toLowerCase().replace(/[_-]/g, '');
}

const LONGEST = 64;
