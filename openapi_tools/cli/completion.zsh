#compdef openapi-tools
_openapi_tools() {
    local row shown
    local -a rows cells values words_of open open_words
    rows=("${(@f)$(COMP_LINE="${(j: :)words[1,CURRENT]}" _OPENAPI_TOOLS_COMPLETE=zsh_complete \
        ${words[1]} 2> /dev/null)}")
    for row in $rows; do
        cells=("${(@ps:\t:)row}")
        shown="${cells[2]}${cells[3]:+  -- ${cells[3]}}"
        if [[ $cells[1] == file ]]; then
            _files
        elif [[ $cells[2] == *= ]]; then
            open+=("$cells[2]"); open_words+=("$shown")
        else
            values+=("$cells[2]"); words_of+=("$shown")
        fi
    done
    (($#values)) && compadd -U -V values -l -d words_of -a values
    (($#open)) && compadd -U -V open -l -S '' -d open_words -a open
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _openapi_tools "$@"
else
    compdef _openapi_tools openapi-tools
fi
