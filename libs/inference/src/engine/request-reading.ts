import type { JsonObject } from '@libs/json';
import { parseRequest } from '../dialects/request-members';
import type { CallerTranslation } from '../dialects/translation';
import type { CanonicalRequest } from '../model/canonical-request';

/** The body of one call in no dialect. It is read once, however many endpoints are tried. */
export class RequestReading {
  /** @param conversation the turn of a tool loop, whose body is only for estimates and is never read */
  constructor(private conversation: CanonicalRequest | null = null) {}

  /** @throws AppError invalid_request naming a field that cannot be understood */
  read(caller: CallerTranslation, body: Buffer, parsed: JsonObject | undefined): CanonicalRequest {
    return (this.conversation ??= caller.readRequest(parsed ?? parseRequest(body)));
  }

  /** Frees the memory of a body that is not written again. */
  forget(): void {
    this.conversation = null;
  }
}
