import { namesOf, type Catalogue } from '../catalogue/catalogue';

/** Longer names are cut where they are shown, and not suggested. */
const LONGEST_SHOWN = 80;
/** No more of a name is sent back in any member. */
const LONGEST_JUDGED = 256;
const MOST_NEAR = 3;
/** From 0 (nothing in common) to 1 (the same). */
const LEAST_LIKENESS = 0.5;

/** The first letters of common keys, a UUID, or a run of letters and digits that is longer than those of names. */
const SECRET =
  /(?<![A-Za-z0-9])(?:(?:sk|rk|pk|gsk|whsec|xai|csk|pplx|nvapi|tvly|glpat|gh[pousr]|github_pat|xox[a-z]|dapi|hvs|ya29)[-_.]|AKIA|ASIA|AIza|eyJ)|[A-Za-z0-9_]{24}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-/i;

/** Whether a name may be a key that was sent as a model by mistake. It is not shown then. */
export function looksSecret(name: string): boolean {
  return SECRET.test(name.slice(0, LONGEST_JUDGED));
}

/** A name that no model has, for records and answers. */
export function repeatable(name: string): string {
  return looksSecret(name) ? '[redacted]' : name;
}

/** Says that there is no such model, under the name that was asked for, and which models are named alike. */
export function unknownModelMessage(name: string, catalogue: Catalogue): string {
  const near = looksSecret(name) ? [] : nearModels(name, catalogue);
  const question = near.length === 0 ? '' : `. Did you mean ${near.join(', ').replace(/, ([^,]+)$/, ' or $1')}?`;
  return `${theModel(name)} does not exist${question}`;
}

/** The subject of a sentence about a model that was asked for. */
export function theModel(name: string): string {
  if (name === '' || looksSecret(name)) return 'The model';
  const plain = name.slice(0, LONGEST_SHOWN).replace(/[^\w.:/~@+-]/g, '?');
  return `The model "${plain}${name.length > LONGEST_SHOWN ? '...' : ''}"`;
}

/** The slugs of the models whose names are most like a name, likest first. */
function nearModels(name: string, catalogue: Catalogue): readonly string[] {
  const wanted = pairsOf(name.slice(0, LONGEST_SHOWN));
  const likeness = new Map<string, number>();
  for (const { slug, pairs } of knownNames(catalogue)) {
    const found = likenessOf(wanted, pairs);
    if (found >= LEAST_LIKENESS && found > (likeness.get(slug) ?? 0)) likeness.set(slug, found);
  }
  return [...likeness]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, MOST_NEAR)
    .map(([slug]) => slug);
}

interface KnownName {
  readonly slug: string;
  readonly pairs: ReadonlySet<string>;
}

const knownNamesOf = new WeakMap<Catalogue, readonly KnownName[]>();

/** Cached, so that a caller's mistakes cost little. */
function knownNames(catalogue: Catalogue): readonly KnownName[] {
  let known = knownNamesOf.get(catalogue);
  if (known === undefined) {
    known = catalogue
      .models()
      .filter(({ slug }) => slug.length <= LONGEST_SHOWN)
      .flatMap((model) => namesOf(model).map((name) => ({ slug: model.slug, pairs: pairsOf(name) })));
    knownNamesOf.set(catalogue, known);
  }
  return known;
}

/** Two sets of pairs by how many they share (Dice). */
function likenessOf(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let shared = 0;
  for (const pair of one) if (other.has(pair)) shared += 1;
  return (2 * shared) / (one.size + other.size || 1);
}

/** Pairs of letters that follow each other in a name, without its vendor, variant, date and marks. */
function pairsOf(name: string): ReadonlySet<string> {
  const [bare = ''] = name.toLowerCase().split('/').slice(-1);
  const letters = (bare.split(':', 1)[0] ?? '').replace(/\d{8}$|\d{4}-\d{2}-\d{2}$/, '').replace(/[^a-z0-9]/g, '');
  const pairs = new Set<string>();
  for (let i = 0; i + 1 < letters.length; i += 1) pairs.add(letters.slice(i, i + 2));
  return pairs;
}
