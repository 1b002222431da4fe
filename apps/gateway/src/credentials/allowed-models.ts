import { AppError } from '@libs/errors';
import type { Catalogue } from '@libs/inference';

/**
 * Checks that each name without a vendor is an alias of a model, such as `gpt-4o`. Slugs are not checked, because the
 * catalogue may name their models later.
 * @throws AppError invalid_request; its message repeats no name
 */
export function requireKnownAliases(names: readonly string[] | null | undefined, catalogue: Catalogue): void {
  const index = (names ?? []).findIndex((name) => !name.includes('/') && catalogue.findModel(name) === null);
  if (index === -1) return;
  throw new AppError(
    'invalid_request',
    `allowed_models[${index}] is neither a slug <vendor>/<model> nor an alias of a model; GET /models lists the models`,
    { metadata: { param: 'allowed_models' } },
  );
}
