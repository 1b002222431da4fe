import { namesOf, type Catalogue } from '../catalogue/catalogue';
import { slipsBetween } from '@libs/contracts';

/** Longer names are cut when shown, and no similar names are suggested. */
const LONGEST_SHOWN = 80;
/** Most characters of a name that an error repeats. */
const LONGEST_JUDGED = 256;
const MOST_NEAR = 3;
/** Least similarity for a suggestion, from 0 (nothing in common) to 1 (equal). */
const LEAST_LIKENESS = 0.5;

/** Matches the beginning of common keys, a UUID, or a run of letters and digits that is longer than in model names. */
const SECRET =
  /(?<![A-Za-z0-9])(?:(?:sk|rk|pk|gsk|whsec|xai|csk|pplx|nvapi|tvly|glpat|gh[pousr]|github_pat|xox[a-z]|dapi|hvs|ya29)[-_.]|AKIA|ASIA|AIza|eyJ)|[A-Za-z0-9_]{24}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-/i;

/** Returns whether a name may be a key that was sent as a model by mistake. Such a name is not shown. */
export function looksSecret(name: string): boolean {
  return SECRET.test(name.slice(0, LONGEST_JUDGED));
}

/** Stands for a name that is not shown. */
export const REDACTED = '[redacted]';

/** Returns an unknown model name in a form that is safe for records and answers. */
export function repeatable(name: string): string {
  return looksSecret(name) ? REDACTED : name;
}

/** Returns the message that no model has this name, with similar names. */
export function unknownModelMessage(name: string, catalogue: Catalogue): string {
  if (name === '') return 'No model is named; GET /models lists those that exist';
  const near = looksSecret(name) ? [] : nearModels(name, catalogue);
  const question = near.length === 0 ? '' : `. Did you mean ${near.join(', ').replace(/, ([^,]+)$/, ' or $1')}?`;
  return `${theModel(name)} does not exist${question}`;
}

/** Returns the subject of a sentence about a requested model. */
export function theModel(name: string): string {
  if (name === '' || looksSecret(name)) return 'The model';
  const plain = name.slice(0, LONGEST_SHOWN).replace(/[^\w.:/~@+-]/g, '?');
  return `The model "${plain}${name.length > LONGEST_SHOWN ? '...' : ''}"`;
}

/** Returns the slugs of the models whose names are most similar to a name, the most similar first. */
function nearModels(name: string, catalogue: Catalogue): readonly string[] {
  const letters = lettersOf(name.slice(0, LONGEST_SHOWN));
  const wanted = { letters, pairs: pairsOf(letters) };
  const likeness = new Map<string, number>();
  for (const { slug, ...known } of knownNames(catalogue)) {
    const found = likenessOf(wanted, known);
    if (found >= LEAST_LIKENESS && found > (likeness.get(slug) ?? 0)) likeness.set(slug, found);
  }
  return [...likeness]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, MOST_NEAR)
    .map(([slug]) => slug);
}

interface ComparedName {
  readonly letters: string;
  readonly pairs: ReadonlySet<string>;
}

interface KnownName extends ComparedName {
  readonly slug: string;
}

const knownNamesOf = new WeakMap<Catalogue, readonly KnownName[]>();

/** Cached, so that wrong names cost little time. */
function knownNames(catalogue: Catalogue): readonly KnownName[] {
  let known = knownNamesOf.get(catalogue);
  if (known === undefined) {
    known = catalogue
      .models()
      .filter(({ slug }) => slug.length <= LONGEST_SHOWN)
      .flatMap((model) =>
        namesOf(model)
          .map(lettersOf)
          .map((letters) => ({ slug: model.slug, letters, pairs: pairsOf(letters) })),
      );
    knownNamesOf.set(catalogue, known);
  }
  return known;
}

/**
 * Returns the similarity of two names: by the letter pairs that they share (Dice coefficient), or by the slips of the
 * keyboard between them, which leave few pairs of a short name.
 */
function likenessOf(one: ComparedName, other: ComparedName): number {
  let shared = 0;
  for (const pair of one.pairs) if (other.pairs.has(pair)) shared += 1;
  const byPairs = (2 * shared) / (one.pairs.size + other.pairs.size || 1);
  const slips = slipsBetween(one.letters, other.letters);
  return slips === null ? byPairs : Math.max(byPairs, 1 - slips / other.letters.length);
}

/** Returns the letters and digits of a name, without its vendor, variant and date. */
function lettersOf(name: string): string {
  const [bare = ''] = name.toLowerCase().split('/').slice(-1);
  return (bare.split(':', 1)[0] ?? '').replace(/\d{8}$|\d{4}-\d{2}-\d{2}$/, '').replace(/[^a-z0-9]/g, '');
}

function pairsOf(letters: string): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (let i = 0; i + 1 < letters.length; i += 1) pairs.add(letters.slice(i, i + 2));
  return pairs;
}
