import type { JsonObject } from '@libs/json';
import { parseRequest } from '../dialects/request-members';
import type { CallerTranslation } from '../dialects/translation';
import type { CanonicalRequest } from '../model/canonical-request';

/** The body of one call in the canonical model. It is parsed once, however many endpoints are tried. */
export class RequestReading {
  /** @param conversation the turn of a tool loop; its body is only used for estimates and is never parsed */
  constructor(private conversation: CanonicalRequest | null = null) {}

  /** @throws AppError invalid_request with the name of a field that cannot be understood */
  read(caller: CallerTranslation, body: Buffer, parsed: JsonObject | undefined): CanonicalRequest {
    return (this.conversation ??= caller.readRequest(parsed ?? parseRequest(body)));
  }

  /** Frees the memory of a body that will not be written again. */
  forget(): void {
    this.conversation = null;
  }
}
