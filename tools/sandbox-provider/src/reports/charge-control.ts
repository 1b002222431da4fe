import { integerMember, listMember, parseJsonObject } from '../http/json-members';
import { jsonReply, type Call, type Reply } from '../http/reply';
import { SandboxError } from '../http/sandbox-error';
import { readCharge } from './charge';
import type { ChargeBook } from './charge-book';

const MAXIMUM_CHARGES = 10_000;
const MAXIMUM_PERCENT = 1_000;

/**
 * `/sandbox/charges`, with which a person makes the reports differ from what was served: `charges` are added to them,
 * and `surcharge_percent` makes later calls more expensive. DELETE empties the reports and ends the surcharge.
 */
export class ChargeControl {
  constructor(private readonly book: ChargeBook) {}

  change(call: Call): Reply {
    const body = parseJsonObject(call.body);
    const charges = listMember(body, 'charges');
    if (charges.length > MAXIMUM_CHARGES) {
      throw new SandboxError(400, `'charges' must have at most ${MAXIMUM_CHARGES} entries`, 'charges');
    }
    const read = charges.map(readCharge);
    const percent = integerMember(body, 'surcharge_percent', 0, MAXIMUM_PERCENT);
    for (const charge of read) this.book.add(charge);
    if (percent !== null) this.book.surchargePercent = percent;
    return jsonReply({ added: read.length, surcharge_percent: this.book.surchargePercent });
  }

  clear(): Reply {
    this.book.clear();
    return jsonReply({ added: 0, surcharge_percent: 0 });
  }
}
