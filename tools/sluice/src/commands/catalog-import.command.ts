import { AppError } from '@libs/errors';
import { CatalogueError, type Catalogue } from '@libs/inference';
import { catalogueText } from '../catalogue-draft/catalogue-text';
import { positional, type Command } from '../command';
import type { Installation } from '../installation';
import { readLitellmConfig } from '../litellm/litellm-config';
import { draftLitellm } from '../litellm/litellm-draft';

const NO_CATALOGUE =
  'The catalogue that CATALOG_PATH names cannot be read, so no prices and contexts are taken from it.';

export const catalogImport: Command = {
  name: 'catalog import',
  summary: 'Print a catalogue of the models in a configuration of LiteLLM, and name what could not be converted',
  usage: 'FILE',
  options: {},
  positionals: ['FILE'],
  async run(args, installation) {
    const config = await readLitellmConfig(positional(args, 0));
    const catalogue = await catalogueInUse(installation);
    const imported = draftLitellm(config, { catalogue, environment: process.env });
    const notes = [...(catalogue === null ? [NO_CATALOGUE] : []), ...imported.notes];
    if (imported.draft.models.length === 0) throw nothingCarried(notes);
    const text = catalogueText(imported.draft);
    return { data: { catalogue: text, notes }, text: text.trimEnd(), notes };
  },
};

/** Returns the catalogue in use; null if it has problems, because the import may be meant to replace it. */
async function catalogueInUse(installation: Installation): Promise<Catalogue | null> {
  try {
    return await installation.catalogue();
  } catch (error) {
    if (error instanceof CatalogueError) return null;
    throw error;
  }
}

function nothingCarried(notes: readonly string[]): AppError {
  const internal = ['it has no model that Sluice can call', ...notes].join('\n');
  return new AppError('invalid_request', 'Nothing of the configuration of LiteLLM can be converted', { internal });
}
