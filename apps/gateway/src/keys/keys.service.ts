import {
  API_KEY_HASH,
  CreateKey,
  DEFAULT_KEY_OVERLAP,
  DeleteKey,
  EndKeyRotation,
  fromHttp,
  GetKey,
  hashApiKey,
  labelApiKey,
  ListKeys,
  mintApiKey,
  readPage,
  RotateKey,
  UpdateKey,
  usdFromNumber,
  type CreateKeyDto,
  type CurrentKeyDto,
  type KeyDto,
  type KeyRecord,
  type KeyReference,
  type ListKeysQueryDto,
  type Principal,
  type RotateKeyDto,
  type UpdateKeyDto,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { keyLimitOf, type KeyLimit, type Tenant } from '@libs/persistence';
import type { MessageBus } from '@libs/platform';
import { badCredential } from '../auth/bearer';
import { NOTHING_SPENT, type KeyUsage } from './key-usage';
import type { PolicyNames } from '../policies/policy-names';
import { currentKeyView, keyView, type KeySpendingView } from './key-view';

const DEFAULT_PAGE = 100;

export interface CreatedKey {
  readonly data: KeyDto;
  /** The key itself; it is never shown again after this answer. */
  readonly key: string;
}

/**
 * The `/keys` and `/key` routes. The auth app stores the keys, the ledger their spending. The operator creates and
 * deletes management keys, so `/keys` handles only API keys.
 */
export class KeysService {
  constructor(
    private readonly bus: MessageBus,
    private readonly usage: KeyUsage,
    private readonly serviceName: string,
    private readonly policies: PolicyNames,
  ) {}

  /**
   * Creates the key here and sends only its hash to the auth app: the key itself is returned to the caller and stored
   * nowhere.
   */
  async create(caller: Principal, body: CreateKeyDto): Promise<CreatedKey> {
    const key = mintApiKey(this.serviceName, 'api');
    const record = await this.bus.call(CreateKey, {
      ...this.#settingsOf(body),
      organizationId: caller.organizationId,
      kind: 'api',
      hash: hashApiKey(key),
      label: labelApiKey(key),
    });
    return { data: keyView(record, { usage: NOTHING_SPENT, leftUsd: record.limitUsd, lastUsedAt: null }), key };
  }

  async list(caller: Principal, query: ListKeysQueryDto): Promise<KeyDto[]> {
    const { keys } = await this.bus.call(ListKeys, {
      organizationId: caller.organizationId,
      workspaceId: query.workspace_id ?? null,
      kind: 'api',
      includeDisabled: query.include_disabled === 'true',
      ...readPage(query, DEFAULT_PAGE),
    });
    if (keys.length === 0) return [];
    const spendingOf = await this.spendingOf(caller, keys);
    return keys.map((key) => keyView(key, spendingOf(key)));
  }

  async get(caller: Principal, hash: string): Promise<KeyDto> {
    return this.view(caller, await this.bus.call(GetKey, ownApiKey(caller, hash)));
  }

  async update(caller: Principal, hash: string, body: UpdateKeyDto): Promise<KeyDto> {
    const changes = { ...this.#settingsOf(body), ...ownApiKey(caller, hash) };
    return this.view(caller, await this.bus.call(UpdateKey, changes));
  }

  async delete(caller: Principal, hash: string): Promise<void> {
    await this.bus.call(DeleteKey, ownApiKey(caller, hash));
  }

  /** @param rotationId the same for each attempt of one request; absent if the request is sent once */
  async rotate(caller: Principal, hash: string, body: RotateKeyDto, rotationId?: string): Promise<CreatedKey> {
    const key = mintApiKey(this.serviceName, 'api');
    const record = await this.bus.call(RotateKey, {
      ...ownApiKey(caller, hash),
      secretHash: hashApiKey(key),
      label: labelApiKey(key),
      overlapSeconds: body.overlap_seconds ?? DEFAULT_KEY_OVERLAP,
      ...(rotationId !== undefined && { rotationId }),
    });
    return { data: await this.view(caller, record), key };
  }

  async endRotation(caller: Principal, hash: string): Promise<KeyDto> {
    return this.view(caller, await this.bus.call(EndKeyRotation, ownApiKey(caller, hash)));
  }

  /** The caller's own key, of either kind. */
  async current(caller: Principal): Promise<CurrentKeyDto> {
    const { organizationId, keyHash } = caller;
    const record = await this.bus.call(GetKey, { organizationId, hash: keyHash }).catch(notFoundAsBadCredential);
    return currentKeyView(record, caller, (await this.spendingOf(caller, [record]))(record));
  }

  #settingsOf<Body extends CreateKeyDto | UpdateKeyDto>({ limit, ...body }: Body) {
    this.policies.check(body.policy);
    const limitUsd = typeof limit === 'number' ? usdFromNumber(limit) : limit;
    return { ...fromHttp(body), ...(limitUsd !== undefined && { limitUsd }) };
  }

  private async view(caller: Principal, record: KeyRecord): Promise<KeyDto> {
    return keyView(record, (await this.spendingOf(caller, [record]))(record));
  }

  private async spendingOf(tenant: Tenant, keys: readonly KeyRecord[]): Promise<(key: KeyRecord) => KeySpendingView> {
    const limits = new Map(keys.flatMap((key) => limitEntry(key)));
    const hashes = keys.map(({ hash }) => hash);
    const [usage, uses, left] = await Promise.all([
      this.usage.usageOf(tenant, hashes),
      this.usage.lastUsesOf(tenant, hashes),
      limits.size === 0 ? new Map<string, string>() : this.usage.leftOf(tenant, limits),
    ]);
    return ({ hash }) => ({
      usage: usage.get(hash) ?? NOTHING_SPENT,
      leftUsd: left.get(hash) ?? null,
      lastUsedAt: uses.get(hash) ?? null,
    });
  }
}

function limitEntry(key: KeyRecord): [hash: string, limit: KeyLimit][] {
  const limit = keyLimitOf(key);
  return limit === null ? [] : [[key.hash, limit]];
}

/** A key that was deleted a moment ago may still be known to the guard. */
function notFoundAsBadCredential(error: unknown): never {
  throw error instanceof AppError && error.code === 'not_found' ? badCredential() : error;
}

/** A text that is not a hash names no key: it gets the answer for an unknown hash. */
function ownApiKey(caller: Principal, hash: string): KeyReference {
  if (!API_KEY_HASH.test(hash)) throw new AppError('not_found', 'No such key');
  return { organizationId: caller.organizationId, hash, kind: 'api' };
}
