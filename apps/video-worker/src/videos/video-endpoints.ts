import type { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  accessWith,
  isInRegion,
  keyRefusalOf,
  readVideoCapabilities,
  type CancelSignal,
  type Catalogue,
  type CredentialVault,
  type Endpoint,
  type ProviderAdapter,
  type SharedCredentials,
  type UpstreamTimeouts,
  type VideoAccess,
  type VideoApi,
  type VideoCapabilities,
} from '@libs/inference';
import type { VideoJob } from '@libs/persistence';

/** Where a job runs, and what is needed to call the provider. */
export interface VideoRoute {
  readonly endpoint: Endpoint;
  readonly api: VideoApi;
  readonly can: VideoCapabilities;
  readonly accessFor: (signal: CancelSignal, timeouts: UpstreamTimeouts) => VideoAccess;
  /** Reports that the provider refused the caller's own key; does nothing for any other error. */
  readonly noteFailure: (error: AppError) => void;
  /** Reports that the provider answered, which matters if it refused the caller's own key before. */
  readonly noteAnswer: () => void;
}

interface JobKey {
  readonly endpoint: Endpoint;
  readonly apiKey: Secret | null;
  /** The caller's own key; null for the operator's. */
  readonly ownKey: Secret | null;
}

export interface EndpointParts {
  readonly catalogue: () => Catalogue;
  readonly adapters: ReadonlyMap<string, ProviderAdapter>;
  readonly shared: SharedCredentials;
  readonly vault: Pick<CredentialVault, 'open' | 'noteVerdict'> & { wasRefused(key: Secret): boolean };
  /** Called with the API key of each job that is worked on. */
  readonly onKeyUse: (organizationId: string, keyHash: string) => void;
}

/** Finds the endpoint and key with which a job was accepted, and no others: only its own provider knows the job. */
export class VideoEndpoints {
  constructor(private readonly parts: EndpointParts) {}

  /**
   * @throws AppError provider_unavailable while the endpoint is missing in the catalogue or in the keys of this
   * process, permission_denied if the caller's own key was deleted
   */
  async routeOf(job: VideoJob): Promise<VideoRoute> {
    const named = this.endpointOf(job);
    const api = named && this.parts.adapters.get(named.provider.protocol)?.video;
    if (!named || !api) throw unavailable(job, 'the catalogue does not name its endpoint');
    const { endpoint, apiKey, ownKey } = await this.keyFor(job, named);
    this.parts.onKeyUse(job.organizationId, job.apiKeyHash);
    return {
      endpoint,
      api,
      can: readVideoCapabilities(endpoint),
      accessFor: (signal, timeouts) => ({ endpoint, apiKey, signal, timeouts }),
      noteFailure: (error) => this.noteVerdict(job, ownKey, keyRefusalOf(error)),
      noteAnswer: () =>
        this.noteVerdict(job, ownKey, ownKey && this.parts.vault.wasRefused(ownKey) ? 'accepted' : null),
    };
  }

  private noteVerdict(job: VideoJob, ownKey: Secret | null, verdict: 'accepted' | 401 | 403 | null): void {
    if (job.credentialId === null || ownKey === null || verdict === null) return;
    this.parts.vault.noteVerdict(job.credentialId, job, ownKey, verdict);
  }

  private endpointOf({ model, provider, upstreamModel, region }: VideoJob): Endpoint | undefined {
    const endpoints = this.parts.catalogue().findModel(model)?.endpoints ?? [];
    return endpoints.find(
      (endpoint) =>
        endpoint.provider.slug === provider && endpoint.upstreamModel === upstreamModel && endpoint.region === region,
    );
  }

  private async keyFor(job: VideoJob, endpoint: Endpoint): Promise<JobKey> {
    if (job.credentialId === null) {
      const apiKey = this.parts.shared.forProvider(endpoint.provider);
      const isMissing = apiKey === null && endpoint.provider.apiKeyEnv !== null;
      if (isMissing) throw unavailable(job, 'there is no key for it');
      return { endpoint, apiKey, ownKey: null };
    }
    const key = await this.parts.vault.open(job.credentialId, job);
    const access = key && accessWith(key, { model: { slug: job.model }, endpoint });
    if (access === null) throw new AppError('permission_denied', 'The provider key of the job is no longer there');
    if (!isWithin(access.endpoint, endpoint)) {
      throw new AppError('permission_denied', 'The provider key of the job is for another region than its endpoint');
    }
    return { ...access, ownKey: key };
  }
}

/**
 * Policies checked the job by the region of its endpoint when it was accepted. A caller's own key may name another
 * region, which must lie in the first one.
 */
function isWithin(own: Endpoint, { region }: Endpoint): boolean {
  return region === 'global' || isInRegion(own.region, region);
}

function unavailable({ id, provider }: VideoJob, why: string): AppError {
  return new AppError('provider_unavailable', 'The provider is not available', {
    internal: `video ${id} at ${provider}: ${why}`,
  });
}
