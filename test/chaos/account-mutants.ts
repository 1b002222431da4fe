import type { Edit, Mutant } from './mutant';

/** The statements of a tenant see everybody's rows (ADR 0025). */
const NO_ROW_POLICIES: Edit = {
  file: 'libs/persistence/src/tenants/tenant.ts',
  find: "    set('role', `'${TENANT_ROLE}'`),\n",
  replace: '',
};

const CLAIM_OF_TOKEN_ID = `    const rows = await this.database.execute({
      name: 'claim-token-id',
      sql: CLAIM,
      values: [hash('sha256', JSON.stringify([issuerId, tokenId]), 'hex'), expiresAtSeconds + KEPT_FOR_SECONDS],
    });
    failpoint('token-id-claimed');
    return rows === 1;`;

/** Defects of money, codes, tokens and sealed keys. */
export const accountMutants: readonly Mutant[] = [
  {
    name: 'M8',
    defect: 'the balance is read first and taken then',
    file: 'libs/persistence/src/generations/generation-statements.ts',
    find: 'WHERE a.id = total.id AND a.balance_usd - a.held_usd >= total.hold',
    replace: `WHERE a.id = total.id AND
      (SELECT seen.balance_usd - seen.held_usd FROM ledger_accounts seen WHERE seen.id = total.id) >= total.hold`,
    project: 'integration',
    spec: 'libs/persistence/src/ledger/key-limits.int',
    test: 'lets exactly as many of 400 concurrent calls through as the balance covers',
  },
  {
    name: 'M8-limit',
    defect: 'what is left of a limit is read first and taken then',
    file: 'libs/persistence/src/generations/generation-statements.ts',
    find: 'FROM limited JOIN locked_key k USING (api_key_hash)',
    replace: 'FROM limited JOIN ledger_keys k USING (api_key_hash)',
    project: 'integration',
    spec: 'libs/persistence/src/ledger/key-limits.int',
    test: 'lets exactly as many of 400 concurrent calls through as it covers',
  },
  {
    name: 'M8-budget',
    defect: 'what is left of a budget is read first and taken then',
    file: 'libs/persistence/src/generations/generation-statements.ts',
    find: 'FROM budget JOIN locked_workspace w USING (workspace_id)',
    replace: 'FROM budget JOIN ledger_workspaces w USING (workspace_id)',
    project: 'integration',
    spec: 'libs/persistence/src/ledger/workspace-budgets',
    test: 'let exactly as many of 400 concurrent calls through as they cover',
  },
  {
    name: 'M8-allowance',
    defect: 'what is used of an allowance is read first and counted then',
    file: 'libs/persistence/src/ledger/byok-allowance.ts',
    find: 'm.list_usd - t.list_usd + sum(s.list_usd)',
    replace: `coalesce((SELECT seen.list_usd FROM ledger_byok_months seen
          WHERE seen.organization_id = s.organization_id AND seen.month = \${THIS_MONTH}), 0) + sum(s.list_usd)`,
    project: 'integration',
    spec: 'libs/persistence/src/ledger/byok-allowance',
    test: 'gives exactly what it is to three hundred calls at once',
  },
  {
    name: 'M9',
    defect: 'a token that counts once is looked for first and marked then',
    file: 'apps/auth/src/workload-identity/used-token-ids.repository.ts',
    find: CLAIM_OF_TOKEN_ID,
    replace: `    const digest = hash('sha256', JSON.stringify([issuerId, tokenId]), 'hex');
    const seen = await this.database.rows({ sql: 'SELECT hash FROM used_token_ids WHERE hash = $1', values: [digest] });
    await this.database.execute({ sql: CLAIM, values: [digest, expiresAtSeconds + KEPT_FOR_SECONDS] });
    return seen.length === 0;`,
    project: 'integration',
    spec: 'apps/auth/src/workload-identity/workload-identity.int',
    test: 'gives a token to one of two hundred that show it at once',
  },
  {
    name: 'M-s',
    defect: 'a token counts as new while nobody can say whether it is',
    file: 'apps/auth/src/workload-identity/used-token-ids.repository.ts',
    find: CLAIM_OF_TOKEN_ID,
    replace: `    try {
  ${CLAIM_OF_TOKEN_ID}
    } catch {
      return true;
    }`,
    project: 'integration',
    spec: 'apps/auth/src/workload-identity/workload-identity.int',
    test: 'lets no token through while it cannot be known whether it was used',
  },
  {
    name: 'C16',
    defect: 'a code is judged without a lock on it',
    file: 'apps/auth/src/oauth/authorization-codes.repository.ts',
    find: 'FROM authorization_codes WHERE code_hash = $1 FOR UPDATE',
    replace: 'FROM authorization_codes WHERE code_hash = $1',
    project: 'integration',
    spec: 'apps/auth/src/oauth/authorization-codes.int',
    test: 'makes one key of a hundred requests at once, and leaves it alone',
  },
  {
    name: 'M-i',
    defect: 'the hold of a call that cost nothing stays',
    file: 'libs/persistence/src/generations/generation-statements.ts',
    find: '(SELECT hold FROM total WHERE total.id = a.id)',
    replace: '(SELECT CASE WHEN cost > 0 THEN hold ELSE 0 END FROM total WHERE total.id = a.id)',
    project: 'integration',
    spec: 'libs/persistence/src/ledger/ledger.int',
    test: 'gives the hold of a call back that was broken off before it cost anything',
  },
  {
    name: 'M-j',
    defect: 'a reported zero counts as nothing reported',
    file: 'libs/inference/src/dialects/openai-usage.ts',
    find: `  const guess = prompt === null || completion === null ? estimate() : { promptTokens: 0, completionTokens: 0 };
  return {
    promptTokens: Math.min(prompt ?? guess.promptTokens, maxPromptTokens),`,
    replace: `  const guess = estimate();
  return {
    promptTokens: Math.min(prompt || guess.promptTokens, maxPromptTokens),`,
    project: 'unit',
    spec: 'libs/inference/src/dialects/openai-chat',
    test: 'keeps details, zeros and unknown members of the usage',
  },
  {
    name: 'M-l',
    defect: 'a sealed key is bound to nobody',
    file: 'apps/credentials/src/vault/envelope-cipher.ts',
    find: `return JSON.stringify([VERSION, 'byok', id, workspaceId, organizationId, identity.provider]);`,
    replace: 'return VERSION;',
    project: 'unit',
    spec: 'apps/credentials/src/vault/envelope-cipher',
    test: 'opens no row that was copied over another',
  },
  {
    name: 'M-m',
    defect: 'a subject token says itself how it is signed',
    file: 'apps/auth/src/workload-identity/subject-token.ts',
    find: 'SIGNATURE_ALGORITHMS.find((known) => known === header.alg)',
    replace: 'header.alg as SignatureAlgorithm | undefined',
    project: 'unit',
    spec: 'apps/auth/src/workload-identity/subject-token',
    test: 'O22 no signature',
  },
  {
    name: 'M-n',
    defect: 'a subject token is good for a minute after its end',
    file: 'apps/auth/src/workload-identity/judge-claims.ts',
    find: 'if (exp - now < 1)',
    replace: 'if (exp - now < -60)',
    project: 'unit',
    spec: 'apps/auth/src/workload-identity/judge-claims',
    test: 'refuses O35 exp a second ago',
  },
  {
    name: 'M-o',
    defect: 'a URL is judged by its name alone',
    file: 'libs/platform/src/egress/address-guard.ts',
    find: 'if (!notAllowed.every(({ address }) => isPublic(address))) {',
    replace: 'if (notAllowed.length < 0) {',
    project: 'unit',
    spec: 'libs/platform/src/egress/egress',
    // Of the addresses of this test the one that a mutant may connect to.
    test: 'refuses a name whose address is loopback: 127.0.0.1',
  },
  {
    name: 'M-p',
    defect: 'the name server is asked again after its answer was judged',
    file: 'libs/platform/src/egress/egress.ts',
    find: 'const addresses = await this.#judgedAddresses(target, deadline);',
    replace: `await this.#judgedAddresses(target, deadline);
    const addresses = target.literal === null ? await this.#resolveName(target) : [target.literal];`,
    project: 'unit',
    spec: 'libs/platform/src/egress/egress',
    test: 'connects to the address that was judged, whatever the name server says next',
  },
  {
    name: 'M-q',
    defect: 'redirects are followed by whoever did not ask for it',
    file: 'libs/platform/src/egress/egress.ts',
    find: 'if (location === null || request.maxRedirects === undefined)',
    replace: 'if (location === null)',
    project: 'unit',
    spec: 'libs/platform/src/egress/egress',
    test: 'gives a redirect back as an answer unless it is told to follow',
  },
  {
    name: 'M-r',
    defect: 'a credential is found without asking whose it is',
    file: 'apps/credentials/src/vault/credentials.repository.ts',
    find: 'return { organizationId, id, deletedAt: IsNull() };',
    replace: 'return { id, deletedAt: IsNull() };',
    fence: NO_ROW_POLICIES,
    project: 'integration',
    spec: 'apps/credentials/src/vault/credentials.int',
    test: 'answers for a foreign credential as for an unknown one, whatever is asked, and changes nothing',
  },
  {
    name: 'M-r-rows',
    defect: 'the statements of a tenant run as the owner of the tables',
    ...NO_ROW_POLICIES,
    project: 'integration',
    spec: 'libs/persistence/src/tenants/tenant-database.int',
  },
  {
    name: 'M-x',
    defect: "an empty key set takes the place of an issuer's keys",
    file: 'apps/auth/src/workload-identity/key-set.ts',
    find: 'return keys.length === 0 ? null : keys;',
    replace: 'return keys;',
    project: 'unit',
    spec: 'apps/auth/src/workload-identity/key-set',
    test: 'has no use for',
  },
  {
    name: 'hold-data-text',
    defect: 'text that stands where a link belongs counts as a small file',
    file: 'libs/inference/src/model/media-tokens.ts',
    find: 'if (mediaType === undefined) return tokensOfUnits(textUnits(bytes, start, end));',
    replace: 'if (mediaType === undefined) return 1_000;',
    project: 'unit',
    spec: 'libs/inference/src/model/estimate',
    test: 'counts text after data: as text',
  },
  {
    name: 'hold-unlisted',
    defect: 'names in a schema count nothing',
    file: 'libs/inference/src/model/json-shape.ts',
    find: 'if (depth > 1) this.units +=',
    replace: 'if (depth > 64) this.units +=',
    project: 'unit',
    spec: 'libs/inference/src/model/estimate',
    test: 'counts texts of any member alike',
  },
  {
    name: 'fund-unheld',
    defect: 'turns and tools spend what nothing was held for',
    file: 'apps/gateway/src/generations/call-fund.ts',
    find: '    await this.ticket.cover(this.takenPicoUsd + picoUsd);\n',
    replace: '',
    project: 'unit',
    spec: 'apps/gateway/src/generations/call-fund',
  },
  {
    name: 'extension-refused-stays',
    defect: 'an extension that is refused leaves what it had taken',
    file: 'libs/persistence/src/generations/generations.repository.ts',
    find: 'if (refusedBy !== null) throw new NotExtended(refusedBy);',
    replace: 'if (refusedBy !== null) return refusedBy;',
    project: 'integration',
    spec: 'libs/persistence/src/generations/generation-extensions.int',
    test: 'a refusal leaves no trace',
  },
  {
    name: 'search-free',
    defect: 'what plugins cost is not charged when the call fails afterwards',
    file: 'apps/gateway/src/inference/inference.service.ts',
    find: 'return plugins === null ? ended : plugins.charged(ended);',
    replace: 'return plugins === null ? ended : plugins.recorded(ended);',
    project: 'unit',
    spec: 'apps/gateway/src/inference/paid-plugins',
  },
];
