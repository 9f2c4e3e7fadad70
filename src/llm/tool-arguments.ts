import {
  isObject,
  type JsonObject,
  MESSAGE_DEPTH,
  type ReadMessage,
  readMessage,
  tryParse,
} from '../base/index.ts';

/** A call's arguments as the model wrote them; nothing recursive happens before their depth is known. */
export function readArguments(text: string): ReadMessage {
  return readMessage(text);
}

/**
 * A call's arguments as the object that some wires demand. Text that is no JSON object, or is nested too deep
 * for a provider, is sent under a name that says so: the model should see what it wrote, and the pairing of call and result must survive.
 */
export function argumentsObject(text: string): JsonObject {
  if (text.trim() === '') return {};
  const value = tryParse(text, MESSAGE_DEPTH);
  return isObject(value) ? value : { unparsed_arguments: text };
}

/** Wires without an error flag are told in words. */
export function resultText(text: string, isError: boolean): string {
  return isError && !/^\s*error/i.test(text) ? `Error: ${text}` : text;
}
