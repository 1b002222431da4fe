import { stringOf, type JsonObject } from '@libs/json';
import type { ProviderDraft } from '../catalogue-draft/catalogue-draft';
import { Slugs } from '../catalogue-draft/slugs';
import type { Deployment } from './deployment';
import type { ImportNotes } from './import-notes';
import type { KnownEndpoints } from './known-endpoints';
import type { KnownProvider } from './litellm-providers';

const ENVIRONMENT = /^os\.environ\/([A-Za-z_]\w*)$/;
const DEFAULT_AWS_REGION = 'us-east-1';

/** The name of a provider at some host, and the variable with its key if the file names none. */
type NamedPlace = Pick<KnownProvider, 'keyEnv' | 'name' | 'slug'>;

/** The providers of a catalogue: one for each host and key that deployments have. */
export class ProviderPlaces {
  readonly #drafts = new Map<string, ProviderDraft>();
  readonly #slugs = new Slugs();
  /** Literal keys of the file in the order of their appearance; never written anywhere. */
  readonly #keys = new Map<string, string>();
  readonly #variables = new Set<string>();

  constructor(
    private readonly environment: Readonly<Record<string, string | undefined>>,
    private readonly known: KnownEndpoints,
    private readonly notes: ImportNotes,
  ) {}

  get drafts(): readonly ProviderDraft[] {
    return [...this.#drafts.values()];
  }

  /** Keeps a variable that the file names from being given to a literal key. */
  reserve({ params }: Deployment): void {
    const variable = ENVIRONMENT.exec(stringOf(params['api_key']) ?? '')?.[1];
    if (variable !== undefined) this.#variables.add(variable);
  }

  /** Returns the provider of a deployment; null, with a note, if its host is not known. */
  of(deployment: Deployment): ProviderDraft | null {
    const baseUrl = this.#baseUrlOf(deployment);
    if (baseUrl === null) return null;
    const named = namedAt(deployment.known, baseUrl);
    const variable = this.#variableOf(deployment, named);
    if (variable === null && deployment.known.keyEnv !== null) {
      const reason = 'it has an api_base and no api_key, so no key is sent: write api_key_env if it needs one';
      this.notes.add(deployment.place, reason);
    }
    const identity = JSON.stringify([named.slug, baseUrl, variable]);
    const draft = this.#drafts.get(identity) ?? this.#draft(deployment, named, baseUrl, variable);
    this.#drafts.set(identity, draft);
    return draft;
  }

  #draft({ known }: Deployment, named: NamedPlace, baseUrl: string, variable: string | null): ProviderDraft {
    const slug = this.#slugs.provider(named.slug);
    return {
      slug,
      name: slug === named.slug ? named.name : `${named.name} (${slug})`,
      base_url: baseUrl,
      protocol: known.protocol,
      ...(variable !== null && { api_key_env: variable }),
      ...this.known.providerFacts(known, baseUrl),
    };
  }

  #baseUrlOf(deployment: Deployment): string | null {
    const { known, params, place } = deployment;
    const given = params['api_base'] ?? params['base_url'];
    if (given === undefined || given === null) return this.#usualUrlOf(deployment);
    const text = this.#resolved(given, `${place} api_base`);
    if (text === null) return null;
    const url = webUrl(text);
    if (url === null) {
      this.notes.add(place, 'skipped, because its api_base is no http or https URL without login, query and fragment');
      return null;
    }
    const { path = '', protocol } = known;
    if (path === '' || url.endsWith(path)) return url;
    return `${protocol === 'azure' ? withoutAzurePath(url) : url}${path}`;
  }

  #usualUrlOf({ known, params, place }: Deployment): string | null {
    if (known.protocol === 'bedrock') return `https://bedrock-runtime.${this.#regionOf(params, place)}.amazonaws.com`;
    if (known.protocol === 'google-vertex') return vertexUrl(stringOf(params['vertex_location']));
    if (known.baseUrl === null) this.notes.add(place, 'skipped, because it has no api_base');
    return known.baseUrl;
  }

  #regionOf(params: JsonObject, place: string): string {
    const given = params['aws_region_name'];
    const region = given === undefined ? null : this.#resolved(given, `${place} aws_region_name`, 'us-east-1 is taken');
    if (region !== null && /^[a-z]{2}(?:-[a-z]+)+-\d$/.test(region)) return region;
    if (given === undefined) this.notes.add(place, `it names no aws_region_name: ${DEFAULT_AWS_REGION} is taken`);
    return DEFAULT_AWS_REGION;
  }

  /** A value of the file, or of the variable that it names. */
  #resolved(given: unknown, place: string, otherwise = 'skipped'): string | null {
    const text = stringOf(given) ?? '';
    const variable = ENVIRONMENT.exec(text)?.[1];
    if (variable === undefined) return text;
    const value = this.environment[variable];
    if (value !== undefined && value !== '') return value;
    this.notes.add(
      place,
      `${otherwise}, because a catalogue has no variables there: set ${variable} where you run this command`,
    );
    return null;
  }

  #variableOf({ known, params, place }: Deployment, { keyEnv, slug }: NamedPlace): string | null {
    const key = stringOf(params['api_key']);
    if (known.protocol === 'bedrock' || known.protocol === 'google-vertex') {
      this.#noteDocument(known.protocol, params, place);
    }
    if (key === undefined || key === '') return keyEnv;
    const own = `${slug.toUpperCase().replaceAll(/\W/g, '_')}_API_KEY`;
    return ENVIRONMENT.exec(key)?.[1] ?? this.#variableForKey(key, keyEnv ?? own, place);
  }

  #variableForKey(key: string, wanted: string, place: string): string {
    let variable = this.#keys.get(key);
    if (variable === undefined) {
      variable = wanted;
      for (let number = 2; this.#variables.has(variable); number += 1) variable = `${wanted}_${number}`;
      this.#variables.add(variable);
      this.#keys.set(key, variable);
    }
    this.notes.add(
      `${place} api_key`,
      `the key is in the file, and is written nowhere: put it into the variable ${variable}`,
    );
    return variable;
  }

  #noteDocument(protocol: string, params: JsonObject, place: string): void {
    const isAws = protocol === 'bedrock';
    const members = Object.keys(params).filter((name) => name.startsWith(isAws ? 'aws_' : 'vertex_'));
    if (members.every((name) => name === 'aws_region_name' || name === 'vertex_location')) return;
    const what = isAws
      ? 'put a Bedrock API key or {"accessKeyId": …, "secretAccessKey": …, "region": …} into AWS_BEARER_TOKEN_BEDROCK'
      : 'put the key file of the service account, as JSON, into GOOGLE_VERTEX_CREDENTIALS';
    this.notes.add(place, `its credentials are not converted: ${what}`);
  }
}

/**
 * A private server that has a maker's API is not that maker: the maker's keys, including callers' own, must not be sent
 * to it.
 */
function namedAt(known: KnownProvider, baseUrl: string): NamedPlace {
  const isMaker = known.baseUrl === null || known.keyEnv === null || known.baseUrl === baseUrl;
  if (isMaker) return known;
  return { slug: `${known.slug}-compatible`, name: `${known.name}-compatible server`, keyEnv: null };
}

/** Returns the URL without slashes at its end; null for one that a catalogue would refuse. */
function webUrl(text: string): string | null {
  if (!URL.canParse(text) || /[\s?#]/.test(text)) return null;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '' ? text.replace(/\/+$/, '') : null;
}

/** Removes the path that LiteLLM accepts at the end of an Azure URL; the API without versions has another one. */
function withoutAzurePath(url: string): string {
  return url.replace(/\/(?:openai|models)(?:\/.*)?$/, '');
}

function vertexUrl(location: string | undefined): string {
  const region = location !== undefined && /^[a-z]+-[a-z]+\d+$/.test(location) ? `${location}-` : '';
  return `https://${region}aiplatform.googleapis.com/v1`;
}
