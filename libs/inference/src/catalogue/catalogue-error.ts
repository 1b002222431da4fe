/**
 * A problem in a catalogue. It names the position and the rule, never the value, because static headers may be secret.
 */
export interface CatalogueProblem {
  readonly file: string;
  /** Path inside the document, e.g. `models[3].endpoints[0].pricing.prompt`; empty for the file as a whole. */
  readonly path: string;
  readonly message: string;
}

/** The error for a catalogue that cannot be used; it lists every problem that was found. */
export class CatalogueError extends Error {
  override readonly name = 'CatalogueError';

  constructor(readonly problems: readonly CatalogueProblem[]) {
    const lines = problems.map(({ file, path, message }) => `  ${file}: ${path && `${path} `}${message}`);
    super(
      `The catalogue has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${lines.join('\n')}`,
    );
  }
}
