/** AWS regions that have Bedrock, in partitions whose hosts are known. */
export const AWS_REGION =
  /^(?:[a-z]{2}|us-gov|eusc-[a-z]{2})-(?:north|south|east|west|central|northeast|northwest|southeast|southwest)-\d{1,2}$/;

/** Locations of Vertex AI: regions, multi-regions and `global`. */
export const GOOGLE_LOCATION = /^(?:global|us|eu|[a-z]{2,20}-[a-z]{2,20}\d{1,2})$/;

/** A Google Cloud project; it becomes part of a path. */
export const GOOGLE_PROJECT = /^[a-z0-9][a-z0-9.:-]{0,99}$/;

/** An Azure resource; it becomes part of a host name. */
export const AZURE_RESOURCE = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?$/;

/** Name of an Azure deployment, as in a body or a path. */
export const AZURE_DEPLOYMENT = /^[A-Za-z0-9][\w.-]{0,127}$/;

/** The parts of an Azure deployment's URL. */
export interface AzureEndpoint {
  /** In lower case, with the port if there is one. */
  readonly host: string;
  /** The deployment in the path; null if the path has none. */
  readonly deployment: string | null;
}

const HOST = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*(?::\d{1,5})?$/;
const PATH =
  /^(?:\/openai)?(?:\/v1(?:\/(?:chat\/completions|responses|embeddings|audio\/transcriptions))?|\/deployments\/([^/]+)(?:\/(?:chat\/completions|embeddings|audio\/transcriptions))?)?\/?$/;

/** Patterns that the text must match, each with the problem to report if it does not. */
const SPELLING: readonly (readonly [RegExp, string])[] = [
  [/^https:\/\//, 'it must start with https://'],
  [/^[^?]*$/, 'it must not have a query: the gateway calls /openai/v1, which takes no api-version'],
  [/^[^#]*$/, 'it must not have a fragment'],
  [/^https:\/\/[^/@]*(?:\/|$)/, 'it must not hold a user or password'],
];

/**
 * Reads an `endpoint_url` of an Azure key. Accepts only the plainest spelling of a URL, so that every reader finds the
 * same host: `https`, a host name in lower-case ASCII, and a path that Azure has, without user, query, fragment or
 * escapes. Otherwise returns what is wrong, never a part of the text.
 */
export function readAzureEndpoint(text: string): AzureEndpoint | string {
  const flaw = SPELLING.find(([pattern]) => !pattern.test(text));
  if (flaw !== undefined) return flaw[1];
  const [, host = '', path = ''] = /^https:\/\/([^/]*)(.*)$/s.exec(text) ?? [];
  if (!HOST.test(host)) return 'its host must be a name in lower-case letters, digits, dots and hyphens';
  if (!isPlain(text, host, path)) return 'it is not spelled as a plain URL';
  const match = PATH.exec(path);
  if (match === null || !isDeployment(match[1])) {
    return 'its path must be empty, /openai/v1 or /openai/deployments/<model_id>';
  }
  return { host, deployment: match[1] ?? null };
}

function isPlain(text: string, host: string, path: string): boolean {
  const url = URL.parse(text);
  return url !== null && url.host === host && url.pathname === (path === '' ? '/' : path);
}

function isDeployment(name: string | undefined): boolean {
  return name === undefined || AZURE_DEPLOYMENT.test(name);
}
