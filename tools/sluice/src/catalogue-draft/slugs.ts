/** Hands out names that a catalogue takes, each once. */
export class Slugs {
  readonly #taken = new Set<string>();

  /** Returns `<vendor>/<name>` in the letters of a slug, with a number behind it where that is taken. */
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

/** A colon marks a variant of a model in a slug, and a slash a vendor, so neither of a name is kept. */
function slugged(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[._-]+|[._-]+$/g, '')
    .slice(0, 100);
}
