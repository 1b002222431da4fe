import { AppError } from '@libs/errors';
import { BATCH_SUFFIX, type Catalogue } from '@libs/inference';

/**
 * Checks the names of models in a list that is compared with slugs and aliases. A name without a vendor must be an
 * alias, such as `gpt-4o`. Names that a request may have in addition, with a suffix such as `:batch` or as
 * `~vendor/name-latest`, are refused: they would match no model. Other slugs are not checked, because the catalogue may
 * name their models later.
 * @throws AppError invalid_request; its message repeats no name
 */
export function requireModelNames(names: readonly string[] | null | undefined, catalogue: Catalogue): void {
  for (const [index, name] of (names ?? []).entries()) {
    const problem = problemOf(name, catalogue);
    if (problem === null) continue;
    const metadata = { param: 'allowed_models' };
    throw new AppError('invalid_request', `allowed_models[${index}] ${problem}`, { metadata });
  }
}

function problemOf(name: string, catalogue: Catalogue): string | null {
  const isOfBatch = name.endsWith(BATCH_SUFFIX);
  if (!isOfBatch && catalogue.findModel(name) !== null) return null;
  if (name.startsWith('~')) return 'means other models over time; name a model by its slug';
  const [bare = ''] = name.split(':');
  if (isOfBatch || (bare !== name && catalogue.findModel(bare) !== null)) {
    return 'has a suffix; name the model without it, which includes all of its variants';
  }
  return bare.includes('/')
    ? null
    : 'is neither a slug <vendor>/<model> nor an alias of a model; GET /models lists the models';
}
