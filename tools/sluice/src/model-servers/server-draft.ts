import type { Api } from '@libs/inference';
import type { CatalogueDraft, ModelDraft } from '../catalogue-draft/catalogue-draft';
import { printable } from '../catalogue-draft/printable';
import { Slugs } from '../catalogue-draft/slugs';
import type { DiscoveredServer } from './discover';
import type { ServedModel } from './served-model';

export interface ProviderPlace {
  readonly slug: string;
  readonly name: string;
  readonly baseUrl: string;
  readonly keyEnv: string | undefined;
}

/** A catalogue for a server, and the information that it does not contain. */
export interface ServerDraft {
  readonly draft: CatalogueDraft;
  readonly notes: readonly string[];
}

const FREE: Readonly<Record<'tokens' | 'embeddings' | 'transcription', Readonly<Record<string, string>>>> = {
  tokens: { prompt: '0', completion: '0' },
  embeddings: { prompt: '0' },
  transcription: { audio_second: '0' },
};
const REMARKS = [
  'Prices are 0: calls cost your callers nothing until you write what a token (an audio_second) costs, in US dollars.',
  'If the server keeps no prompts, say so at the provider, so that calls under zero retention may use it:',
  '  data_policy: { retains_prompts: false, trains_on_prompts: false, zdr: true }',
];

export function draftServer({ kind, models, maxConcurrency }: DiscoveredServer, place: ProviderPlace): ServerDraft {
  const { slug, name, baseUrl, keyEnv } = place;
  const usable = models.filter((model) => isNameable(model) && model.apis.length > 0);
  const slugs = new Slugs();
  const provider = {
    slug,
    name,
    base_url: baseUrl,
    protocol: 'openai',
    ...(keyEnv !== undefined && { api_key_env: keyEnv }),
    ...(maxConcurrency !== undefined && { max_concurrency: maxConcurrency }),
  };
  return {
    draft: {
      remarks: [`The models of this server (${kind.name}), as sluice catalog discover saw them.`, ...REMARKS],
      providers: [provider],
      models: usable.map((model) => toDraft(model, slug, slugs)),
    },
    notes: [...models.filter((model) => !usable.includes(model)).map(leftOut), ...remarksOf(usable)],
  };
}

function toDraft(model: ServedModel, provider: string, slugs: Slugs): ModelDraft {
  const { id, apis, contextLength, created, quantization, inputModalities, supportedParameters, remarks } = model;
  const endpoint = { provider, upstream_model: id, apis, pricing: priceOf(apis) };
  return {
    slug: slugs.model(provider, shortName(id)),
    name: shortName(id),
    ...(created !== undefined && { created }),
    ...(contextLength !== undefined && { context_length: contextLength }),
    ...(inputModalities !== undefined && { architecture: { input_modalities: inputModalities } }),
    ...(supportedParameters !== undefined && { supported_parameters: supportedParameters }),
    endpoints: [{ ...endpoint, ...(quantization !== undefined && { quantization }) }],
    remarks,
  };
}

function priceOf(apis: readonly Api[]): Readonly<Record<string, string>> {
  if (apis.includes('embeddings')) return FREE.embeddings;
  return apis.includes('transcription') ? FREE.transcription : FREE.tokens;
}

/** A path or repository contains more than a name needs, and so does the tag of a model with only one tag. */
function shortName(id: string): string {
  const name = id
    .split(/[/\\]/)
    .at(-1)!
    .replace(/\.gguf$/i, '')
    .replace(/:latest$/, '');
  return name === '' ? id : name;
}

/** Returns whether a catalogue can name the model, and people can read that name. */
function isNameable({ id }: ServedModel): boolean {
  return /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,300}$/u.test(id);
}

function leftOut(model: ServedModel): string {
  const why = isNameable(model)
    ? 'the server has neither chat completions nor embeddings for it'
    : 'a catalogue cannot have its name';
  return `${JSON.stringify(printable(model.id))} is left out: ${why}.`;
}

/** Returns one line for each remark, with the models that it concerns. */
function remarksOf(models: readonly ServedModel[]): readonly string[] {
  return models.flatMap(({ id, remarks }) => remarks.map((remark) => `${printable(id)}: ${remark}.`));
}
