/** Creates names that a catalogue accepts, each only once. */
export class Slugs {
  readonly #taken = new Set<string>();

  /** Returns `<vendor>/<name>` in the characters of a slug, with a number added if that is already used. */
  model(vendor: string, name: string): string {
    return this.#free(`${vendor}/${slugged(name) || 'model'}`);
  }

  /** Takes a slug that is one already. */
  exactly(slug: string): string {
    return this.#free(slug);
  }

  provider(name: string): string {
    return this.#free(slugged(name) || 'provider');
  }

  #free(wanted: string): string {
    let slug = wanted;
    for (let number = 2; this.#taken.has(slug); number += 1) slug = `${wanted}-${number}`;
    this.#taken.add(slug);
    return slug;
  }
}

/** In a slug, a colon marks a variant of a model and a slash its vendor, so both are replaced in names. */
function slugged(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[._-]+|[._-]+$/g, '')
    .slice(0, 100);
}
