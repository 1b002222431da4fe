import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { catalogueText } from '../catalogue-draft/catalogue-text';
import { optionalText, positional, UsageError, type Command, type CommandArguments } from '../command';
import { discoverServer } from '../model-servers/discover';
import { readServerAddress } from '../model-servers/server-address';
import { ServerClient } from '../model-servers/server-client';
import { draftServer } from '../model-servers/server-draft';

export const catalogDiscover: Command = {
  name: 'catalog discover',
  summary: 'Ask a running model server (vLLM, Ollama, llama.cpp) what it serves, and print a catalogue of it',
  usage: 'URL [--name SLUG] [--key-env VARIABLE]',
  options: { name: { type: 'string' }, 'key-env': { type: 'string' } },
  positionals: ['URL'],
  async run(args) {
    const { root, baseUrl } = readServerAddress(positional(args, 0));
    const slug = slugOf(args);
    const keyEnv = optionalText(args, 'key-env');
    const server = await discoverServer(new ServerClient(root, keyOf(keyEnv)));
    const name = slug === undefined ? server.kind.name : `${server.kind.name} (${slug})`;
    const { draft, notes } = draftServer(server, { slug: slug ?? server.kind.slug, name, baseUrl, keyEnv });
    if (draft.models.length === 0) throw noModels(notes);
    const text = catalogueText(draft);
    return { data: { catalogue: text, notes }, text: text.trimEnd(), notes };
  },
};

function noModels(notes: readonly string[]): AppError {
  return new AppError('provider_unavailable', 'The model server has no model that Sluice can call', {
    internal: notes.join(' '),
  });
}

function slugOf(args: CommandArguments): string | undefined {
  const slug = optionalText(args, 'name');
  if (slug !== undefined && !/^[a-z0-9][a-z0-9._-]{0,99}$/.test(slug)) {
    throw new UsageError('--name must be a slug: lower-case letters, digits and . _ -');
  }
  return slug;
}

/** @throws UsageError, never with the key in it */
function keyOf(variable: string | undefined): Secret | null {
  if (variable === undefined) return null;
  if (!/^[A-Za-z_]\w*$/.test(variable)) throw new UsageError('--key-env must be the name of a variable, not a key');
  const key = process.env[variable];
  if (key === undefined || key === '') throw new UsageError(`--key-env names ${variable}, which has no value here`);
  if (!/^[!-~]+$/.test(key)) throw new UsageError(`${variable} must be a key of printable characters without blanks`);
  return new Secret(key);
}
