/**
 * A plugin of TypeDoc: drops the zod schema that has the name of an exported type, because the reference describes only
 * the type. Also drops members that come from the language, such as `Error.stack`.
 */
import { Converter, ReflectionKind } from 'typedoc'

export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const reflection of project.getReflectionsByKind(ReflectionKind.Variable | ReflectionKind.TypeAlias))
      if (/^Zod\w+</.test(String(reflection.type))) project.removeReflection(reflection)
  })
}
