_openapi_tools() {
    local kind value line=${COMP_LINE:0:COMP_POINT} word=${COMP_WORDS[COMP_CWORD]} quoted=
    [[ $word == [\"\']* ]] && quoted=${word:1}
    COMPREPLY=()
    while IFS=$'\t' read -r kind value _; do
        if [[ $kind == file ]]; then
            compopt -o default
        else
            [[ $value == *= ]] && compopt -o nospace
            case $word in
                # bash quotes nothing inside quotes, where these would end them or run a command.
                [\"\']*) [[ $value == *[\"\'\\\$\`\!]* ]] && continue ;;
                *) printf -v value %q "$value" ;;
            esac
            COMPREPLY+=("$value")
        fi
    done < <(COMP_LINE=$line BREAKS=$COMP_WORDBREAKS QUOTED=$quoted _OPENAPI_TOOLS_COMPLETE=bash_complete "$1" 2> /dev/null)
}
complete -o nosort -F _openapi_tools openapi-tools
