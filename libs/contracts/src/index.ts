// Exports messages and bodies completely; of all other files, what other folders import.
export { JobPayload } from './messages/job-payload';
export { call, job, type CallContract, type Contract, type JobContract } from './messages/contract';
export { newBrokerKeys, type BrokerKeys } from './messages/broker-keys';
export { APP_NAMES, PARTY_NAMES, type AppName, type PartyName } from './messages/parties';
export { JOB_SENDERS, queues, type QueueSpec } from './messages/queues';
export { allContracts } from './messages/all-contracts';
export * from './audit/audit.dto';
export { BYOK_PROVIDERS } from './credentials/byok-providers';
export { CREDENTIAL_REGIONS, type CredentialRegion } from './credentials/credential-rules';
export * from './credentials/credentials.dto';
export * from './credentials/credentials.messages';
export {
  AWS_REGION,
  GOOGLE_LOCATION,
  GOOGLE_PROJECT,
  AZURE_RESOURCE,
  AZURE_DEPLOYMENT,
  readAzureEndpoint,
} from './credentials/key-places';
export * from './credentials/sealing-purposes';
export * from './credentials/vault.messages';
export * from './feeds/feeds.messages';
export { mintApiKey, readApiKeyKind, hashApiKey, labelApiKey, type ApiKeyKind } from './keys/api-key-format';
export { GatheredPieces } from './gathered-pieces';
export { guardConnections } from './answer-heads';
export { checkArriving } from './checked-socket';
export { SharedLine } from './shared-line';
export { SharedPool, type Rooms } from './shared-pool';
export { Secret } from './secret';
export * from './keys/key-rotation.messages';
export * from './keys/keys.dto';
export * from './keys/keys.messages';
export * from './keys/usd-amount';
export * from './oauth/authorization-code-format';
export * from './oauth/authorization-codes.dto';
export * from './oauth/authorization-codes.messages';
export * from './oauth/consent-sessions.messages';
export { callbackHost } from './oauth/callback-url';
export { CHALLENGE_METHODS, challengeOf, storedChallenge, type ChallengeMethod } from './oauth/pkce';
export { BatchEntriesQueryDto, ListModelsQueryDto, MODEL_WISHES, type ModelOrder } from './models/list-models.dto';
export * from './organizations/organizations.messages';
export { PageQueryDto, readPage } from './organizations/page.dto';
export { readOnlyNames, type ReadOnlyMembers } from './organizations/read-only-members';
export * from './tokens/tokens.messages';
export * from './workload-identity/issuers.dto';
export * from './workload-identity/issuers.messages';
export * from './workload-identity/policies.dto';
export * from './workload-identity/policies.messages';
export { MAX_CLAIM_LENGTH, type PolicyCheck } from './workload-identity/policy-checks';
export * from './workspaces/budgets.dto';
export * from './workspaces/budgets.messages';
export * from './workspaces/members.dto';
export * from './workspaces/members.messages';
export { givenSettings, type WorkspaceSettings, type WorkspaceSettingsChanges } from './workspaces/workspace-settings';
export * from './workspaces/workspaces.dto';
export * from './workspaces/workspaces.messages';
export * from './batches/batch-object';
export * from './batches/batches.messages';
export * from './webhooks/webhook-secrets.messages';
export * from './webhooks/webhooks.messages';
export { fromHttp, givenFields, recordOf, toHttp } from './validation/derived-classes';
export { dayOfId, mintId, numberedId, readNumberedId, type NumberedPiece } from './ids';
export { ChatCompletionDto } from './chat-completions/chat-completions.dto';
export { EmbeddingsDto } from './embeddings/embeddings.dto';
export { countEmbeddingsInputs } from './embeddings/embeddings-input';
export { MessagesDto } from './messages-api/messages.dto';
export { findBodyLinkProblem, isLinkMember, isTextMember } from './links/body-links';
export { findInBody, type FoundMember, type Holder, type MemberJudge } from './links/body-walk';
export { linkHeadOf, parseLink, placeOf, type LinkHead } from './links/link-head';
export { isCloudStorage } from './links/media-links';
export { isPublicAddress, namesPrivateAddress } from './links/public-address';
export { ResponsesDto } from './responses/responses.dto';
export { allowedDataRegions, type RoutingPolicy, type OwnedPolicy } from './routing/routing-policy';
export { TranscriptionDto, TranscriptionJsonDto } from './transcriptions/transcriptions.dto';
export type { PercentileCutoffs, PriceLimit, ProviderPreferences } from './routing/provider-preferences';
export type { FrameImage, InputReference } from './videos/video-members';
export { VIDEO_ID, VideoDto } from './videos/videos.dto';
export * from './videos/videos.messages';
export { slipsBetween } from './validation/edit-distance';
export { sentValue, shownType, shownValue } from './validation/shown-value';
export { memberPath } from './validation/member-path';
export { isPlainObject } from './validation/well-formed';
