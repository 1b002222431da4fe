import { JsonCursor, scanMembersAt, type ScannedObject } from '@libs/json';
import { memberText } from '../request-members';

/** Visits each message of a request's `messages` that the model wrote. */
export function eachReturnedTurn(messages: Buffer, visit: (message: ScannedObject) => void): void {
  eachObject(new JsonCursor(messages), (message) => {
    if (memberText(message, 'role')?.toString() === '"assistant"') visit(message);
  });
}

/** Visits each object of the list at the cursor, if there is a list. */
export function eachObject(cursor: JsonCursor, visit: (object: ScannedObject) => void): void {
  if (!cursor.isArray()) return;
  cursor.readArray(() => {
    if (!cursor.isObject()) return cursor.skipValue();
    visit(scanMembersAt(cursor));
  });
}
