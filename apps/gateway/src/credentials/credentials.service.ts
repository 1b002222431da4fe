import {
  BYOK_PROVIDERS,
  CreateCredential,
  CredentialSettingsDto,
  DeleteCredential,
  fromHttp,
  GetCredential,
  givenFields,
  ListCredentials,
  readPage,
  UpdateCredential,
  type CreateCredentialDto,
  type CredentialDto,
  type CredentialRecord,
  type CredentialReference,
  type ListCredentialsQueryDto,
  type Principal,
  type UpdateCredentialDto,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { Catalogue } from '@libs/inference';
import type { LastUsesRepository } from '@libs/persistence';
import type { MessageBus } from '@libs/platform';
import { CredentialIntake } from './credential-intake';
import { credentialView } from './credential-view';
import { requireModelNames } from './allowed-models';
import { requireKnownHosts, warningsOf } from './key-places';

const DEFAULT_PAGE = 50;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const KNOWN_PROVIDERS = new Set(BYOK_PROVIDERS);

/** The `/byok` routes of the API, forwarded to the credentials app for the organization of the caller's key. */
export class CredentialsService {
  readonly #intake: CredentialIntake;

  /** @param catalogue credentials may also name its providers */
  constructor(
    private readonly bus: MessageBus,
    private readonly catalogue: () => Catalogue,
    private readonly uses: Pick<LastUsesRepository, 'findUses'>,
  ) {
    this.#intake = new CredentialIntake(bus);
  }

  /** @param id of the new credential, if the request may be repeated; otherwise a new one is chosen */
  async create(caller: Principal, body: CreateCredentialDto, id?: string): Promise<CredentialDto> {
    const { organizationId } = caller;
    const { key, provider, workspace_id: workspaceId = null } = body;
    this.#requireProvider(provider);
    requireKnownHosts(key, this.catalogue().providers());
    requireModelNames(body.allowed_models, this.catalogue());
    const settings = fromHttp(givenFields(CredentialSettingsDto, body));
    const members = { ...settings, ...(id !== undefined && { id }), organizationId, workspaceId, provider };
    const record = await this.#intake.send(key, organizationId, (sealedKey) =>
      this.bus.call(CreateCredential, { ...members, sealedKey }),
    );
    return credentialView(record, null, warningsOf(record.provider, this.catalogue().providers()));
  }

  async list(
    caller: Principal,
    query: ListCredentialsQueryDto,
  ): Promise<{ data: CredentialDto[]; total_count: number }> {
    const { workspace_id: workspaceId = null, provider = null } = query;
    if (provider !== null) this.#requireProvider(provider);
    const { offset, limit } = readPage(query, DEFAULT_PAGE);
    const wanted = { organizationId: caller.organizationId, workspaceId, provider };
    const records: CredentialRecord[] = [];
    for (;;) {
      const rest = { offset: offset + records.length, limit: limit - records.length };
      const { credentials, totalCount } = await this.bus.call(ListCredentials, { ...wanted, ...rest });
      records.push(...credentials);
      const isLast = credentials.length === 0 || offset + records.length >= totalCount;
      if (isLast || records.length >= limit) {
        return { data: await this.#views(caller, records), total_count: totalCount };
      }
    }
  }

  async get(caller: Principal, id: string): Promise<CredentialDto> {
    return this.#view(caller, await this.bus.call(GetCredential, ownCredential(caller, id)));
  }

  async update(caller: Principal, id: string, body: UpdateCredentialDto): Promise<CredentialDto> {
    const members = { ...fromHttp(givenFields(CredentialSettingsDto, body)), ...ownCredential(caller, id) };
    const { key, allowed_models: allowedModels } = body;
    requireModelNames(allowedModels, this.catalogue());
    if (key === undefined) return this.#view(caller, await this.bus.call(UpdateCredential, members));
    requireKnownHosts(key, this.catalogue().providers());
    const record = await this.#intake.send(key, caller.organizationId, (sealedKey) =>
      this.bus.call(UpdateCredential, { ...members, sealedKey }),
    );
    return this.#view(caller, record);
  }

  async delete(caller: Principal, id: string): Promise<void> {
    await this.bus.call(DeleteCredential, ownCredential(caller, id));
  }

  async #view(caller: Principal, record: CredentialRecord): Promise<CredentialDto> {
    return (await this.#views(caller, [record]))[0]!;
  }

  async #views({ organizationId }: Principal, records: readonly CredentialRecord[]): Promise<CredentialDto[]> {
    const uses = await this.uses.findUses(
      organizationId,
      records.map(({ id }) => id),
    );
    const providers = this.catalogue().providers();
    return records.map((record) =>
      credentialView(record, uses.get(record.id) ?? null, warningsOf(record.provider, providers)),
    );
  }

  #requireProvider(slug: string): void {
    const isKnown =
      KNOWN_PROVIDERS.has(slug) ||
      this.catalogue()
        .providers()
        .some((provider) => provider.slug === slug);
    if (isKnown) return;
    throw new AppError('invalid_request', 'provider must be one of the provider slugs of this service', {
      metadata: { param: 'provider' },
    });
  }
}

/** Text that is not a UUID names no credential: it gets the answer for an unknown id. */
function ownCredential(caller: Principal, id: string): CredentialReference {
  if (!UUID.test(id)) throw new AppError('not_found', 'No such credential');
  return { organizationId: caller.organizationId, id };
}
