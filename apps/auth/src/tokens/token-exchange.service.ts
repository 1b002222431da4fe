import { Injectable, Logger } from '@nestjs/common';
import { compactVerify } from 'jose';
import type { ExchangeTokenRequest, ExchangeTokenResponse, TokenGrant } from '@libs/contracts';
import { KeysRepository } from '../keys/keys.repository';
import { signAccessToken } from './access-tokens';
import { sealAnswer } from './sealing-keys';
import { TokenKeysService } from './token-keys.service';
import { meetsCondition } from '../workload-identity/conditions/condition';
import { IssuerKeySets } from '../workload-identity/issuer-key-sets';
import { judgeClaims, type AdmittedToken } from '../workload-identity/judge-claims';
import { PoliciesRepository, type EnabledPolicy } from '../workload-identity/policies.repository';
import { decodeSubjectToken, type DecodedToken } from '../workload-identity/subject-token';
import { UsedTokenIdsRepository } from '../workload-identity/used-token-ids.repository';

/**
 * Exchanges subject tokens for access tokens (RFC 8693).
 *
 * Verifies the signature with a key of the policy's issuer before it trusts any claim. Then checks time, issuer,
 * audience, subject, further checks and condition, in this order, and finally that a single-use token is new. The
 * response never says which step failed; the reason is in our log.
 */
@Injectable()
export class TokenExchangeService {
  private readonly logger = new Logger(TokenExchangeService.name);

  constructor(
    private readonly policies: PoliciesRepository,
    private readonly keys: KeysRepository,
    private readonly usedTokenIds: UsedTokenIdsRepository,
    private readonly keySets: IssuerKeySets,
    private readonly tokenKeys: TokenKeysService,
  ) {}

  /** @throws AppError precondition_failed, provider_unavailable (see the contract) */
  async exchange(request: ExchangeTokenRequest): Promise<ExchangeTokenResponse> {
    this.tokenKeys.requireSigningKey();
    const { subjectToken, replyKey } = await this.tokenKeys.sealingKeys.open(request.sealed);
    const policy = await this.policies.findEnabledPolicy(request.policyId);
    if (policy === null) return this.refuse(request, 'no such policy, or it is not enabled');
    const admitted = await this.admit(subjectToken, policy, request);
    if (typeof admitted === 'string') return this.refuse(request, admitted);
    return { grant: await this.grant(admitted, policy, { issuer: request.issuer, replyKey }) };
  }

  /** Returns the token if it may be exchanged, otherwise the reason why not. */
  private async admit(
    subjectToken: string,
    policy: EnabledPolicy,
    { organizationId, issuer }: ExchangeTokenRequest,
  ): Promise<AdmittedToken | string> {
    if (organizationId !== null && organizationId !== policy.organizationId) {
      return 'the bearer is a key of another organization';
    }
    const decoded = decodeSubjectToken(subjectToken);
    if (decoded === null) return 'the token is malformed or names an algorithm that is not taken';
    if (!(await this.isSignedByIssuer(subjectToken, decoded, policy))) return 'the signature is not the issuer’s';
    const judged = judgeClaims(decoded.claims, { ...policy, ownIssuer: issuer }, Date.now() / 1_000);
    if ('problem' in judged) return judged.problem;
    if (policy.condition !== null && !meetsCondition(policy.condition, decoded.claims)) {
      return 'the condition does not hold';
    }
    const key = await this.keys.findUsableKey(policy.apiKeyHash, 'record');
    if (key === null) return 'the key of the policy cannot be used';
    return (await this.isFirstUse(judged, policy)) ? judged : 'the token was exchanged before';
  }

  private async isSignedByIssuer(token: string, decoded: DecodedToken, policy: EnabledPolicy): Promise<boolean> {
    const { issuerId: id, organizationId, issuerUrl, jwksUrl } = policy;
    const key = await this.keySets.find({ id, organizationId, issuerUrl, jwksUrl }, decoded);
    if (key === null) return false;
    return compactVerify(token, key, { algorithms: [decoded.algorithm] }).then(
      () => true,
      () => false,
    );
  }

  private async isFirstUse(
    { tokenId, expiresAtSeconds }: AdmittedToken,
    { organizationId, issuerId, issuerUrl }: EnabledPolicy,
  ): Promise<boolean> {
    if (tokenId === null) return true;
    return this.usedTokenIds.claimTokenId({ organizationId, issuerId, issuerUrl, tokenId, expiresAtSeconds });
  }

  private async grant(
    admitted: AdmittedToken,
    policy: EnabledPolicy,
    { issuer, replyKey }: { readonly issuer: string; readonly replyKey: string },
  ): Promise<TokenGrant> {
    const facts = {
      issuer,
      subject: admitted.subject,
      policyId: policy.id,
      issuerId: policy.issuerId,
      apiKeyHash: policy.apiKeyHash,
      subjectExpiresAtSeconds: admitted.expiresAtSeconds,
    };
    const { token, expiresInSeconds } = await signAccessToken(this.tokenKeys.requireSigningKey(), facts, Date.now());
    return { sealedToken: await sealAnswer(token, replyKey), expiresInSeconds };
  }

  private refuse({ policyId }: ExchangeTokenRequest, reason: string): ExchangeTokenResponse {
    this.logger.log('A token exchange was refused', { policyId, reason });
    return { grant: null };
  }
}
