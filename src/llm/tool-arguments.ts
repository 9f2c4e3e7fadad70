import {
  isObject,
  type JsonObject,
  MESSAGE_DEPTH,
  type ReadMessage,
  readMessage,
  tryParse,
} from '../base/index.ts';

/** Parses a call's arguments. The depth limit is checked before parsing. */
export function parseArguments(text: string): ReadMessage {
  return readMessage(text);
}

/**
 * A call's arguments as an object, which some provider APIs require. Text that is not a JSON object, or is nested too deep
 * for the provider, is sent as `unparsed_arguments`, so that the model sees what it wrote and the result keeps its call.
 */
export function argumentsObject(text: string): JsonObject {
  if (text.trim() === '') return {};
  const value = tryParse(text, MESSAGE_DEPTH);
  return isObject(value) ? value : { unparsed_arguments: text };
}

/** Marks an error result in the text, for provider APIs that have no error flag. */
export function resultText(text: string, isError: boolean): string {
  return isError && !/^\s*error/i.test(text) ? `Error: ${text}` : text;
}
